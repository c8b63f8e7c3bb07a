package status

import (
	"context"
	"encoding/json"
	"errors"
)

// ErrNoUser is returned by Use if this process does not support calls by the console.
var ErrNoUser = errors.New("this gateway does not perform calls for the console")

// Use is a call, a prompt or a read by the owner of the gateway. Exactly one of Tool, Prompt and URI is set, to the
// public name of the item.
type Use struct {
	Tool      string          `json:"tool,omitempty"`
	Prompt    string          `json:"prompt,omitempty"`
	URI       string          `json:"uri,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // of a tool or prompt: an object; nil = none
}

// UseProgress is the progress of a Use, as its server reports it.
type UseProgress struct {
	Done    float64 `json:"progress"`
	Total   float64 `json:"total,omitempty"` // 0 = unknown
	Message string  `json:"message,omitempty"`
}

// UseEvent is something that happens during a Use. Exactly one field is set.
type UseEvent struct {
	Progress *UseProgress
	Question *UseQuestion // the server asks the user; UseAnswer answers it
	Closed   string       // ID of a question that can no longer be answered
}

// UseQuestion is a server's request for input from the user (elicitation), in the course of a Use.
type UseQuestion struct {
	ID      string          `json:"id"` // random, so that only the console that made the call can answer
	Message string          `json:"message"`
	URL     string          `json:"url,omitempty"`             // the page that the user is asked to open; "" = a form
	Schema  json.RawMessage `json:"requestedSchema,omitempty"` // of the form
}

// UseAnswer answers a UseQuestion.
type UseAnswer struct {
	Question string          `json:"question"`          // UseQuestion.ID
	Action   string          `json:"action"`            // accept, decline or cancel
	Content  json.RawMessage `json:"content,omitempty"` // the values of an accepted form: an object
}

// The actions of a UseAnswer. MCP 2025-11-25, client/elicitation.
const (
	Accept  = "accept"
	Decline = "decline"
	Dismiss = "cancel"
)

// ErrNoQuestion is returned by Answer if the question was answered or withdrawn, or its call has ended.
var ErrNoQuestion = errors.New("the question is no longer open")

// UseResult is the result of a Use, as an MCP client would receive it. Exactly one field is set.
type UseResult struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"` // {code, message, data}
}

// UseFunc performs a Use as an MCP client of the gateway would. It calls tell for each event, one at a time. If tell is nil, it
// answers no server requests; otherwise, it answers elicitation with what AnswerFunc receives. It blocks until the result is available or
// ctx ends, which cancels the call. It is safe for concurrent use.
type UseFunc func(ctx context.Context, u Use, tell func(UseEvent)) (UseResult, error)

// AnswerFunc answers a question of a running Use, or returns ErrNoQuestion. It is safe for concurrent use.
type AnswerFunc func(ctx context.Context, a UseAnswer) error

// Use implements Source. The result is for display, so known secrets are removed.
func (l Local) Use(ctx context.Context, u Use, tell func(UseEvent)) (UseResult, error) {
	if l.Perform == nil {
		return UseResult{}, ErrNoUser
	}
	told := tell
	if tell != nil && l.Known != nil {
		told = func(e UseEvent) { tell(l.shownEvent(e)) }
	}
	a, err := l.Perform(ctx, u, told)
	return UseResult{Result: l.shownRaw(a.Result), Error: l.shownRaw(a.Error)}, l.shownError(err)
}

// Answer implements Source.
func (l Local) Answer(ctx context.Context, a UseAnswer) error {
	if l.Reply == nil {
		return ErrNoQuestion
	}
	return l.Reply(ctx, a)
}

// shownError returns an error whose text has no known secrets, and that wraps err.
func (l Local) shownError(err error) error {
	if err == nil || l.Known == nil {
		return err
	}
	if text := l.Known(err.Error()); text != err.Error() {
		return redacted{err, text}
	}
	return err
}

// redacted is an error with a text without secrets.
type redacted struct {
	err  error
	text string
}

func (r redacted) Error() string { return r.text }
func (r redacted) Unwrap() error { return r.err }

// shownEvent returns an event without known secrets.
func (l Local) shownEvent(e UseEvent) UseEvent {
	if e.Progress != nil {
		p := *e.Progress
		p.Message = l.Known(p.Message)
		e.Progress = &p
	}
	if e.Question != nil {
		q := *e.Question
		q.Message, q.URL, q.Schema = l.Known(q.Message), l.Known(q.URL), l.shownRaw(q.Schema)
		e.Question = &q
	}
	return e
}

// shownRaw returns JSON without known secrets. If a secret is a number in it, the result is a JSON string.
func (l Local) shownRaw(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	shown := l.Shown(raw)
	if !json.Valid(shown) {
		shown, _ = json.Marshal(string(shown))
	}
	return shown
}
