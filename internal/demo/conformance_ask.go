package demo

import (
	"encoding/json"
	"slices"
	"strings"

	"goblin-actor/internal/decode"
	"goblin-actor/protocol"
)

// question is a request to the client: sampling/createMessage, elicitation/create or roots/list.
// key identifies it among the questions of a call.
type question struct {
	key    string
	needs  string // the required client capability
	method protocol.Method
	params any
}

// asker is a tool that asks the client some questions. questions returns what to ask, and done converts the answers to a
// result.
type asker struct {
	questions func(args map[string]string) []question
	done      func(answers map[string]json.RawMessage) any // answers by key
}

// handle asks all questions at once. If the client lacks a capability or refuses, the tool fails, not the request.
func (a asker) handle(c *Call) (any, error) {
	args := map[string]string{}
	if len(c.Arguments) > 0 {
		if err := decode.JSON(c.Arguments, "arguments", &args); err != nil {
			return nil, err
		}
	}
	questions := a.questions(args)
	replies, err := c.askAll(questions...)
	if err != nil {
		return nil, err
	}
	answers := map[string]json.RawMessage{}
	for i, q := range questions {
		if replies[i].Err != nil {
			return nil, replies[i].Err
		}
		answers[q.key] = replies[i].Result
	}
	return a.done(answers), nil
}

func addConformanceQuestions(s *Server) {
	s.AddTool(Tool{
		Name: "test_sampling", Description: "Asks the client's model",
		Input: json.RawMessage(`{"type":"object","properties":{"prompt":{"type":"string","description":"what to ask the model"}},"required":["prompt"]}`),
		Handle: asker{
			questions: func(args map[string]string) []question {
				return []question{{"completion", "sampling", protocol.MethodSamplingCreateMessage, map[string]any{
					"messages":  []any{map[string]any{"role": "user", "content": textBlock(args["prompt"])}},
					"maxTokens": 100,
				}}}
			},
			done: func(answers map[string]json.RawMessage) any {
				var answer struct {
					Content struct {
						Text string `json:"text"`
					} `json:"content"`
				}
				if err := decode.JSON(answers["completion"], "the answer", &answer); err != nil {
					return Failed("sampling: %v", err)
				}
				return Text("LLM response: %s", answer.Content.Text)
			},
		}.handle,
	})
	s.AddTool(Tool{
		Name: "test_elicitation", Description: "Asks the user for a name and an email address",
		Input: json.RawMessage(`{"type":"object","properties":{"message":{"type":"string","description":"what the user is shown"}},"required":["message"]}`),
		Handle: elicits("", `{
			"username": {"type": "string", "description": "User's response"},
			"email": {"type": "string", "description": "User's email address"}
		}`, "username", "email"),
	})
	s.AddTool(Tool{
		Name: "test_elicitation_sep1034_defaults", Description: "Asks the user to fill in a form that has default values",
		Handle: elicits("Please review the values and change what is wrong.", `{
			"name": {"type": "string", "description": "User name", "default": "John Doe"},
			"age": {"type": "integer", "description": "User age", "default": 30},
			"score": {"type": "number", "description": "User score", "default": 95.5},
			"status": {"type": "string", "description": "User status", "enum": ["active", "inactive", "pending"], "default": "active"},
			"verified": {"type": "boolean", "description": "Verification status", "default": true}
		}`),
	})
	s.AddTool(Tool{
		Name: "test_elicitation_sep1330_enums", Description: "Asks the user to fill in a form that has every kind of choice",
		Handle: elicits("Please choose.", `{
			"untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
			"titledSingle": {"type": "string", "oneOf": [
				{"const": "value1", "title": "First Option"}, {"const": "value2", "title": "Second Option"}, {"const": "value3", "title": "Third Option"}]},
			"legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
			"untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
			"titledMulti": {"type": "array", "items": {"anyOf": [
				{"const": "value1", "title": "First Choice"}, {"const": "value2", "title": "Second Choice"}, {"const": "value3", "title": "Third Choice"}]}}
		}`),
	})
}

// elicits returns the handler of a tool that asks the user with a form and returns the answer. If message is
// empty, the argument message is used.
func elicits(message, properties string, required ...string) Handler {
	schema := map[string]any{"type": "object", "properties": json.RawMessage(properties)}
	if len(required) > 0 {
		schema["required"] = required
	}
	return asker{
		questions: func(args map[string]string) []question {
			text := message
			if text == "" {
				text = args["message"]
			}
			return []question{{"form", "elicitation", protocol.MethodElicitationCreate,
				map[string]any{"message": text, "requestedSchema": schema}}}
		},
		done: func(answers map[string]json.RawMessage) any {
			var answer struct {
				Action  string          `json:"action"`
				Content json.RawMessage `json:"content"`
			}
			if err := decode.JSON(answers["form"], "the answer", &answer); err != nil {
				return Failed("elicitation: %v", err)
			}
			return Text("Elicitation completed: action=%s, content=%s", answer.Action, answer.Content)
		},
	}.handle
}

// suggest returns the words that start with prefix.
func suggest(_, prefix string) []string {
	return slices.DeleteFunc([]string{"paris", "park", "party", "test"}, func(word string) bool { return !strings.HasPrefix(word, prefix) })
}
