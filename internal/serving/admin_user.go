package serving

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"goblin-actor/actors"
	"goblin-actor/internal/admin"
	"goblin-actor/internal/client"
	"goblin-actor/internal/config"
	"goblin-actor/internal/inprocess"
)

// AdminUser returns a function that calls tools and reads resources for the admin socket. Each use has its own client
// session, which appears in the status and is subject to the usual limits.
func AdminUser(g *actors.Gateway, cfg *config.Config, version string, log *slog.Logger) admin.User {
	return func(ctx context.Context, u admin.Use) (admin.Answer, error) {
		c, err := inprocess.Dial(ctx, g, cfg.Limits, client.Options{Name: "goblin-actor admin", Version: version}, log)
		if err != nil {
			return admin.Answer{}, err
		}
		defer c.Close()
		var a admin.Answer
		if u.URI != "" {
			a.Result, err = c.Read(ctx, u.URI)
		} else {
			a.Result, err = c.Call(ctx, u.Tool, u.Arguments, nil)
		}
		if refused, ok := errors.AsType[*client.RPCError](err); ok {
			a.Error, err = json.Marshal(refused)
		}
		return a, err
	}
}
