package demo

import "encoding/json"

// addConformanceModern adds the tools for the remaining scenarios of 2026-07-28.
func addConformanceModern(s *Server) {
	s.AddTool(Tool{
		Name: "test_x_mcp_header", Description: "Has arguments that are repeated in headers",
		Input: json.RawMessage(`{"type":"object","properties":{
			"region":{"type":"string","x-mcp-header":"Region"},
			"priority":{"type":"integer","x-mcp-header":"Priority"},
			"dry":{"type":"boolean","x-mcp-header":"Dry"},
			"note":{"type":"string"}}}`),
		Handle: func(c *Call) (any, error) { return Text("called with: %s", c.Arguments), nil },
	})
	s.AddTool(Tool{Name: "test_missing_capability", Description: "Needs the client's model", Handle: needModel})
	s.AddTool(Tool{
		Name: "test_streaming_elicitation", Description: "Reports progress, then asks the user", Handle: func(c *Call) (any, error) {
			c.Progress(1, 2, "asking")
			if _, err := c.askAll(formOf("user_name", "What is your name?", "name", "string")); err != nil {
				return nil, err
			}
			c.Progress(2, 2, "asked")
			return Text("asked"), nil
		},
	})
	s.AddTool(Tool{Name: "test_logging_tool", Description: "Logs if the client requests it", Handle: logThrice})
	s.AddTool(Tool{
		Name: "test_trigger_tool_change", Description: "Adds and removes a tool", Handle: func(*Call) (any, error) {
			s.AddTool(Tool{Name: "test_dynamic_tool", Description: "Exists for a moment", Handle: answers(blocks{textBlock("still here")})})
			s.RemoveTool("test_dynamic_tool")
			return Text("The tools have changed twice."), nil
		},
	})
	s.AddTool(Tool{
		Name: "test_trigger_prompt_change", Description: "Adds and removes a prompt", Handle: func(*Call) (any, error) {
			s.AddPrompt(Prompt{Name: "test_dynamic_prompt", Description: "Exists for a moment", Handle: func(*Call) (any, error) {
				return said(textBlock("still here")), nil
			}})
			s.RemovePrompt("test_dynamic_prompt")
			return Text("The prompts have changed twice."), nil
		},
	})
}

// needModel sends a sampling request. A modern client that did not declare sampling gets an error. A legacy client
// gets the request even then, so that the client itself rejects it.
func needModel(c *Call) (any, error) {
	q := sample("completion", "Say something.", 100)
	if c.modern() && !c.canAnswer(q.needs) {
		return nil, lacks(`{"sampling":{}}`)
	}
	if !c.modern() {
		wait, err := c.pose(q)
		if err != nil {
			return nil, err
		}
		if _, err := wait(); err != nil {
			return Failed("%v", err), nil
		}
		return Text("The model has spoken."), nil
	}
	replies, err := c.askAll(q)
	if err == nil {
		err = replies[0].Err
	}
	return Text("The model has spoken."), err
}
