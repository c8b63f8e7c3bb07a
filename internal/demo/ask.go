package demo

import (
	"context"
	"encoding/json"
	"fmt"
)

// What a question needs the client to have declared. MCP 2025-11-25, client/elicitation, client/sampling, client/roots.
const (
	needsForm     = "elicitation"
	needsURL      = "elicitation.url"
	needsSampling = "sampling"
	needsRoots    = "roots"
)

// reply is what came back for one question: the client's result, or why there is none: it refused, or cannot be
// asked such a thing.
type reply struct {
	Result json.RawMessage
	Err    error
}

// askAll puts the questions to the client, all at once, and waits until each has its reply; replies come in the
// order of the questions. It blocks until then or until the call ends.
//
// A handler that asks is written straight down: it asks, looks at the replies, asks again. It must return an error
// of askAll as it is, must do nothing before its last question that could not be done twice, and must ask the same
// when it was told the same: an era without requests to clients ends the call at a question and runs the handler
// again with the answers, and then askAll returns at once what is answered already. key and position of a question
// tell it from the others of its call.
func (c *Call) askAll(questions ...question) ([]reply, error) {
	if c.modern() {
		return c.requireInput(questions)
	}
	replies := make([]reply, len(questions))
	waits := make([]func() (json.RawMessage, error), len(questions))
	for i, q := range questions {
		if !c.canAnswer(q.needs) {
			replies[i].Err = undeclared(q)
			continue
		}
		waits[i], replies[i].Err = c.pose(q)
	}
	for i, wait := range waits {
		if wait == nil {
			continue
		}
		var err error
		if replies[i].Result, err = wait(); err != nil {
			replies[i].Err = fmt.Errorf("the client refused: %v", err) // no *Error: the tool fails, not the request
		}
	}
	if err := context.Cause(c.Context); err != nil {
		return nil, err
	}
	return replies, nil
}

func undeclared(q question) error {
	return fmt.Errorf("the client has not declared the capability %s", q.needs)
}

// canAnswer reports whether the client declared what a question needs. An empty elicitation object means forms.
func (c *Call) canAnswer(needs string) bool {
	var can struct {
		Elicitation     *struct{ Form, URL *json.RawMessage }
		Sampling, Roots *json.RawMessage
	}
	if json.Unmarshal(c.Client(), &can) != nil {
		return false
	}
	switch e := can.Elicitation; needs {
	case needsForm:
		return e != nil && (e.Form != nil || e.URL == nil)
	case needsURL:
		return e != nil && e.URL != nil
	case needsSampling:
		return can.Sampling != nil
	case needsRoots:
		return can.Roots != nil
	}
	return false
}
