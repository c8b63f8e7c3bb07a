package demo

import (
	"context"
	"encoding/json"
	"fmt"
)

// Client capabilities that questions need. MCP 2025-11-25, client/elicitation, client/sampling, client/roots.
const (
	needsForm     = "elicitation"
	needsURL      = "elicitation.url"
	needsSampling = "sampling"
	needsRoots    = "roots"
)

// reply is the outcome of one question: the client's result, or the reason why there is none. The client may have
// refused, or may lack the capability.
type reply struct {
	Result json.RawMessage
	Err    error
}

// askAll asks the client all questions at once. It blocks until each has a reply or the call ends. The replies are in
// the order of the questions.
//
// A handler is written sequentially: it asks, evaluates the replies, and asks again. It must return errors from
// askAll unchanged, must not have side effects before its last question, and must ask the same questions after the same
// replies. The reason is that for a modern client a call ends at a question, except in a task, where askAll waits. When
// the client repeats the call with the answers, the handler runs again, and askAll returns immediately for questions
// that have been answered. The key of a question must be unique in its call.
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
			replies[i].Err = fmt.Errorf("the client refused: %v", err) // not an *Error: the tool fails, not the request
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

// canAnswer reports whether the client declared a capability. An empty elicitation object means forms.
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
