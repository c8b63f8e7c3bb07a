package demo

import (
	"encoding/json"
	"fmt"
	"slices"

	"goblin-actor/protocol"
)

// formOf returns a form for one value. key identifies the question.
func formOf(key, message, name, kind string) question {
	return form(key, message, fmt.Sprintf(`{"type": "object", "properties": {%q: {"type": %q}}, "required": [%q]}`, name, kind, name))
}

// sample returns a question to the model.
func sample(key, text string, tokens int) question {
	return question{key, needsSampling, protocol.MethodSamplingCreateMessage, map[string]any{
		"messages": []any{map[string]any{"role": "user", "content": textBlock(text)}}, "maxTokens": tokens,
	}}
}

// addConformanceRounds adds the tools and the prompt of the scenarios input-required-result-*, with the names and
// keys that the suite expects. Modern clients get input_required, legacy clients get requests.
func addConformanceRounds(s *Server) {
	const tool = "test_input_required_result_"
	greeting := func(answers map[string]json.RawMessage) any {
		return Text("Hello, %s!", filledIn(answers["user_name"], "name"))
	}
	for _, t := range []struct {
		name, about string
		stateful    bool
		handle      Handler
	}{
		{"elicitation", "Asks the user for a name", false,
			rounds(greeting, []question{formOf("user_name", "What is your name?", "name", "string")})},
		{"sampling", "Asks the model", false,
			rounds(func(answers map[string]json.RawMessage) any {
				text, err := reply{Result: answers["capital_question"]}.said()
				if err != nil {
					return Failed("%v", err)
				}
				return Text("%s", text)
			}, []question{sample("capital_question", "What is the capital of France?", 100)})},
		{"list_roots", "Asks for the roots", false,
			rounds(func(answers map[string]json.RawMessage) any {
				text, err := reply{Result: answers["client_roots"]}.roots()
				if err != nil {
					return Failed("%v", err)
				}
				return Text("%s", text)
			}, []question{forRoots("client_roots")})},
		{"request_state", "Asks once and requires its state back", true, confirmState},
		{"tampered_state", "Asks once and rejects a modified state", true, confirmState},
		{"multiple_inputs", "Asks three things at once", true,
			rounds(greeting, []question{
				formOf("user_name", "What is your name?", "name", "string"), sample("greeting", "Generate a greeting", 50), forRoots("client_roots"),
			})},
		{"multi_round", "Asks twice, in sequence", true,
			rounds(func(answers map[string]json.RawMessage) any {
				return Text("%s likes %s.", filledIn(answers["step1"], "name"), filledIn(answers["step2"], "color"))
			},
				[]question{formOf("step1", "Step 1: What is your name?", "name", "string")},
				[]question{formOf("step2", "Step 2: What is your favorite color?", "color", "string")})},
		{"capabilities", "Asks only what the capabilities of the client permit", false, askWhatCan},
	} {
		s.AddTool(Tool{Name: tool + t.name, Description: t.about, Stateful: t.stateful, Handle: t.handle})
	}
	s.AddPrompt(Prompt{
		Name: tool + "prompt", Description: "A prompt that asks the user first",
		Handle: rounds(func(answers map[string]json.RawMessage) any {
			return said(textBlock("Context: " + filledIn(answers["user_context"], "context")))
		}, []question{formOf("user_context", "What context should the prompt use?", "context", "string")}),
	})
}

// rounds returns a handler that asks sets of questions in sequence and passes all answers to done.
func rounds(done func(map[string]json.RawMessage) any, sets ...[]question) Handler {
	return func(c *Call) (any, error) {
		answers := map[string]json.RawMessage{}
		for _, questions := range sets {
			replies, err := c.askAll(questions...)
			if err != nil {
				return nil, err
			}
			for i, q := range questions {
				if replies[i].Err != nil {
					return nil, replies[i].Err
				}
				answers[q.key] = replies[i].Result
			}
		}
		return done(answers), nil
	}
}

// filledIn returns the value of a field of the form, or the user's action if the form was not filled in.
func filledIn(answer json.RawMessage, name string) string {
	var content map[string]any
	action, ok, err := reply{Result: answer}.filled(&content)
	switch {
	case err != nil:
		return "(" + err.Error() + ")"
	case !ok:
		return "(" + action + ")"
	}
	return fmt.Sprint(content[name])
}

func confirmState(c *Call) (any, error) {
	replies, err := c.askAll(formOf("confirm", "Please confirm", "ok", "boolean"))
	switch {
	case err != nil:
		return nil, err
	case replies[0].Err != nil:
		return nil, replies[0].Err
	case c.modern() && !c.resumed:
		return Text("the answer came without requestState"), nil
	}
	return Text("state-ok"), nil // an invalid requestState has been rejected before
}

func askWhatCan(c *Call) (any, error) {
	questions := []question{formOf("user_name", "What is your name?", "name", "string"), sample("greeting", "Generate a greeting", 50)}
	questions = slices.DeleteFunc(questions, func(q question) bool { return !c.canAnswer(q.needs) })
	if _, err := c.askAll(questions...); err != nil {
		return nil, err
	}
	return Text("Questions asked: %d.", len(questions)), nil
}
