package serving

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"

	"goblin-actor/actors"
	"goblin-actor/internal/client"
	"goblin-actor/internal/config"
	"goblin-actor/internal/inprocess"
	"goblin-actor/internal/status"
)

// canAnswer declares which server requests the console can answer.
const canAnswer = `{"elicitation":{"form":{},"url":{}}}`

// AdminUser calls tools, gets prompts and reads resources for the admin socket, and passes the questions of these calls to
// their callers. Each use has its own client session, which appears in the status and is subject to the usual limits.
type AdminUser struct {
	gateway   *actors.Gateway
	limits    config.Limits
	version   string
	log       *slog.Logger
	questions questions
}

// NewAdminUser returns the AdminUser of a gateway.
func NewAdminUser(g *actors.Gateway, cfg *config.Config, version string, log *slog.Logger) *AdminUser {
	return &AdminUser{gateway: g, limits: cfg.Limits, version: version, log: log}
}

// Serve makes source call Use and Answer of a.
func (a *AdminUser) Serve(source *status.Local) { source.Perform, source.Reply = a.Use, a.Answer }

// Use implements status.UseFunc.
func (a *AdminUser) Use(ctx context.Context, u status.Use, tell func(status.UseEvent)) (r status.UseResult, err error) {
	o := client.Options{Name: "goblin-actor admin", Version: a.version}
	var progress func(client.Progress)
	if tell != nil {
		asks := &asker{questions: &a.questions, tell: tell}
		defer asks.end()
		o.Capabilities, o.Answer = json.RawMessage(canAnswer), asks.answer
		progress = func(p client.Progress) {
			asks.send(status.UseEvent{Progress: &status.UseProgress{Done: p.Done, Total: p.Total, Message: p.Message}})
		}
	}
	c, err := inprocess.Dial(ctx, a.gateway, a.limits, o, a.log)
	if err != nil {
		return r, err
	}
	defer c.Close()
	switch {
	case u.URI != "":
		r.Result, err = c.Read(ctx, u.URI)
	case u.Prompt != "":
		r.Result, err = c.Prompt(ctx, u.Prompt, u.Arguments)
	default:
		r.Result, err = c.Call(ctx, u.Tool, u.Arguments, progress)
	}
	if refused, ok := errors.AsType[*client.RPCError](err); ok {
		r.Error, err = json.Marshal(refused)
	}
	return r, err
}

// Answer implements status.AnswerFunc. The audit log records it, without the values of a form.
func (a *AdminUser) Answer(_ context.Context, answer status.UseAnswer) error {
	err := a.questions.answer(answer)
	a.gateway.RecordAct("answer", "", answer.Action, err)
	return err
}

// asker passes the questions and the progress of one use to tell.
type asker struct {
	questions *questions
	mu        sync.Mutex
	tell      func(status.UseEvent) // called with mu held; nil = the use has ended
}

// send passes an event, unless the use has ended.
func (a *asker) send(e status.UseEvent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tell != nil {
		a.tell(e)
	}
}

// end makes sure that tell is not called again.
func (a *asker) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tell = nil
}
