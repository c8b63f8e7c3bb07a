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

// UseResult is the result of a Use, as an MCP client would receive it. Exactly one field is set.
type UseResult struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"` // {code, message, data}
}

// UseFunc performs a Use as an MCP client of the gateway would, but answers no server requests. It calls progress for each
// report, one at a time; progress may be nil. It blocks until the result is available or ctx ends, which cancels the
// call. It is safe for concurrent use.
type UseFunc func(ctx context.Context, u Use, progress func(UseProgress)) (UseResult, error)

// Use implements Source. The result is for display, so known secrets are removed.
func (l Local) Use(ctx context.Context, u Use, progress func(UseProgress)) (UseResult, error) {
	if l.Perform == nil {
		return UseResult{}, ErrNoUser
	}
	told := progress
	if progress != nil && l.Known != nil {
		told = func(p UseProgress) {
			p.Message = l.Known(p.Message)
			progress(p)
		}
	}
	a, err := l.Perform(ctx, u, told)
	if err != nil && l.Known != nil {
		if known := l.Known(err.Error()); known != err.Error() {
			err = errors.New(known)
		}
	}
	return UseResult{Result: l.shownRaw(a.Result), Error: l.shownRaw(a.Error)}, err
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
