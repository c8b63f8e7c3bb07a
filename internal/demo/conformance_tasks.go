package demo

import (
	"encoding/json"
	"errors"
	"time"
)

// addConformanceTasks adds the tools of the scenarios tasks-*. Clients without tasks get ordinary results, except
// that modern ones get an error from tools that require tasks.
func addConformanceTasks(s *Server) {
	s.Tasks = true
	s.AddTool(Tool{
		Name: "greet", Description: "Greets immediately", Handle: greet,
		Input: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
	})
	s.AddTool(Tool{
		Name: "slow_compute", Description: "Takes the given number of seconds",
		Input:  json.RawMessage(`{"type":"object","properties":{"seconds":{"type":"number"},"label":{"type":"string"}}}`),
		Handle: func(c *Call) (any, error) { return c.Background(false, compute) },
	})
	s.AddTool(Tool{
		Name: "confirm_delete", Description: "Asks before pretending to delete a file",
		Input:  json.RawMessage(`{"type":"object","properties":{"filename":{"type":"string"}}}`),
		Handle: func(c *Call) (any, error) { return c.Background(false, confirmDelete) },
	})
	s.AddTool(Tool{
		Name: "multi_input", Description: "Asks two questions at once",
		Handle: func(c *Call) (any, error) {
			return c.Background(false, rounds(
				func(answers map[string]json.RawMessage) any {
					return Text("%s and %s", filledIn(answers["first"], "value"), filledIn(answers["second"], "value"))
				},
				[]question{formOf("first", "The first value?", "value", "string"), formOf("second", "The second value?", "value", "string")}))
		},
	})
	s.AddTool(Tool{
		Name: "failing_job", Description: "Fails after a second; callable only as a task", Handle: func(c *Call) (any, error) {
			return c.Background(true, func(c *Call) (any, error) {
				if err := c.sleep(time.Second); err != nil {
					return nil, err
				}
				return nil, errors.New("this job always fails")
			})
		},
	})
	s.AddTool(Tool{
		Name: "protocol_error_job", Description: "Fails with a protocol error", Handle: func(c *Call) (any, error) {
			return c.Background(false, func(*Call) (any, error) {
				return nil, &Error{Code: codeInternal, Message: "this job fails with a protocol error"}
			})
		},
	})
	s.AddTool(Tool{
		Name: "test_tool_with_task", Description: "Asks for a name, then greets in a task", Handle: func(c *Call) (any, error) {
			replies, err := c.askAll(formOf("user_name", "What is your name?", "name", "string"))
			switch {
			case err != nil:
				return nil, err
			case replies[0].Err != nil:
				return nil, replies[0].Err
			}
			return c.Background(true, func(c *Call) (any, error) {
				return Text("Hello, %s!", filledIn(replies[0].Result, "name")), c.sleep(stepPause)
			})
		},
	})
}

func greet(c *Call) (any, error) {
	var args struct{ Name string }
	if err := c.Bind(&args); err != nil {
		return nil, err
	}
	return Text("Hello, %s!", args.Name), nil
}

func compute(c *Call) (any, error) {
	var args struct {
		Seconds float64
		Label   string
	}
	if err := c.Bind(&args); err != nil {
		return nil, err
	}
	if args.Seconds < 0 || args.Seconds > maxWait.Seconds() {
		return nil, errors.New("seconds must be from 0 to 600")
	}
	return Text("%s: computed for %v seconds", args.Label, args.Seconds), c.sleep(time.Duration(args.Seconds * float64(time.Second)))
}

func confirmDelete(c *Call) (any, error) {
	var args struct{ Filename string }
	if err := c.Bind(&args); err != nil {
		return nil, err
	}
	replies, err := c.askAll(formOf("confirm", "Delete "+args.Filename+"?", "confirm", "boolean"))
	switch {
	case err != nil:
		return nil, err
	case replies[0].Err != nil:
		return nil, replies[0].Err
	}
	return Text("Delete %s: %s", args.Filename, filledIn(replies[0].Result, "confirm")), nil
}
