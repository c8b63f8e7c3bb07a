package serving

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"goblin-actor/actors"
	"goblin-actor/internal/client"
	"goblin-actor/internal/config"
	"goblin-actor/internal/inprocess"
	"goblin-actor/internal/status"
)

// AdminUser returns a function that calls tools, gets prompts and reads resources for the admin socket. Each use has its own client
// session, which appears in the status and is subject to the usual limits.
func AdminUser(g *actors.Gateway, cfg *config.Config, version string, log *slog.Logger) status.UseFunc {
	return func(ctx context.Context, u status.Use, progress func(status.UseProgress)) (status.UseResult, error) {
		c, err := inprocess.Dial(ctx, g, cfg.Limits, client.Options{Name: "goblin-actor admin", Version: version}, log)
		if err != nil {
			return status.UseResult{}, err
		}
		defer c.Close()
		var a status.UseResult
		switch {
		case u.URI != "":
			a.Result, err = c.Read(ctx, u.URI)
		case u.Prompt != "":
			a.Result, err = c.Prompt(ctx, u.Prompt, u.Arguments)
		case progress == nil:
			a.Result, err = c.Call(ctx, u.Tool, u.Arguments, nil)
		default:
			a.Result, err = c.Call(ctx, u.Tool, u.Arguments, func(p client.Progress) { progress(status.UseProgress(p)) })
		}
		if refused, ok := errors.AsType[*client.RPCError](err); ok {
			a.Error, err = json.Marshal(refused)
		}
		return a, err
	}
}
