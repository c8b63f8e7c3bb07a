package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"goblin-actor/internal/decode"
	"goblin-actor/protocol"
)

// oracleSteps is the number of progress steps of the tools consult, divine and council: before the questions, after the
// replies, and before the result.
const oracleSteps = 3

// NewOracle returns a server that asks the user, the user's model and the client.
func NewOracle() *Server {
	s := New("oracle", "1.0.0")
	s.Instructions = "The oracle answers questions with questions: its tools ask the user by elicitation, the model by sampling, and the client for its roots."
	readOnly := json.RawMessage(`{"readOnlyHint":true,"openWorldHint":false}`)
	for _, t := range []Tool{
		{
			Name: "consult", Title: "Consult the oracle", Since: protocol.Version20250618,
			Description: "Ask the user to fill in a form with choices and defaults, then tell the future.", Handle: consult,
		},
		{
			Name: "divine", Title: "Divine an answer", Description: "Have the client's model answer a question.",
			Input:  json.RawMessage(`{"type":"object","properties":{"question":{"type":"string","description":"what to ask the model"}},"required":["question"],"additionalProperties":false}`),
			Handle: divine,
		},
		{
			Name: "look_around", Title: "Look around", Description: "Ask the client for its roots and list them.", Handle: lookAround,
		},
		{
			Name: "visit", Title: "Visit the shrine", Since: protocol.Version20251125,
			Description: "Ask the user to open a page in the browser.", Handle: visit,
		},
		{
			Name: "council", Title: "Hold council", Since: protocol.Version20250618,
			Description: "Ask the user and the model for an opinion, and the client for its roots, all at once.", Handle: council,
		},
		{
			Name: "riddle", Title: "Pose a riddle", Since: protocol.Version20250618,
			Description: "Ask the user a riddle until the answer is right, three times at most.", Handle: poseRiddle,
		},
	} {
		t.Annotations = readOnly
		s.AddTool(t)
	}
	s.AddPrompt(Prompt{
		Name: "prophecy", Title: "A prophecy", Description: "Ask the user for a name, then for a prophecy about it.", Handle: prophecy,
	})
	s.SetResource(Resource{
		URI: "oracle://whisper", Name: "whisper", Title: "A whisper", Description: "What the client's model says when this resource is read.",
		MIMEType: "text/plain", Handle: whisper,
	})
	return s
}

// errSilent is returned if the answer to a question is unusable.
var errSilent = errors.New("the oracle is silent")

// form returns a question to the user. schema is the requestedSchema as JSON.
func form(key, message, schema string) question {
	return question{key, needsForm, protocol.MethodElicitationCreate,
		map[string]any{"message": message, "requestedSchema": json.RawMessage(schema)}}
}

// toModel returns a question to the client's model.
func toModel(key, text string) question {
	return question{key, needsSampling, protocol.MethodSamplingCreateMessage, map[string]any{
		"messages":     []any{map[string]any{"role": "user", "content": textBlock(text)}},
		"systemPrompt": "You are an oracle. Answer in one sentence.",
		"maxTokens":    200,
	}}
}

// forRoots returns a request for the client's roots.
func forRoots(key string) question {
	return question{key, needsRoots, protocol.MethodRootsList, struct{}{}}
}

// filled decodes a form's content. If the form was not filled in, ok is false and action is what the user did
// instead.
func (r reply) filled(into any) (action string, ok bool, err error) {
	if r.Err != nil {
		return "", false, r.Err
	}
	var answer struct {
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(r.Result, &answer) != nil || answer.Action == "" {
		return "", false, fmt.Errorf("the answer to the form: %w", errSilent)
	}
	if answer.Action != "accept" || into == nil {
		return answer.Action, answer.Action == "accept", nil
	}
	if err := decode.JSON(answer.Content, "the form", into); err != nil {
		return "", false, err
	}
	return answer.Action, true, nil
}

// said returns the text of the model's answer.
func (r reply) said() (string, error) {
	if r.Err != nil {
		return "", r.Err
	}
	var answer struct {
		Content json.RawMessage `json:"content"`
	}
	var text Content
	if json.Unmarshal(r.Result, &answer) != nil || json.Unmarshal(answer.Content, &text) != nil || text.Type != "text" {
		return "", fmt.Errorf("the model's answer contains no text: %w", errSilent)
	}
	return text.Text, nil
}

// roots returns the client's roots, one per line.
func (r reply) roots() (string, error) {
	if r.Err != nil {
		return "", r.Err
	}
	var answer struct {
		Roots []struct{ URI, Name string } `json:"roots"`
	}
	if err := decode.JSON(r.Result, "the client's answer", &answer); err != nil {
		return "", err
	}
	if len(answer.Roots) == 0 {
		return "no roots", nil
	}
	lines := make([]string, len(answer.Roots))
	for i, root := range answer.Roots {
		lines[i] = strings.TrimSpace(root.URI + " " + root.Name)
	}
	return strings.Join(lines, "\n"), nil
}
