package main

import (
	"context"
	"log/slog"

	"goblin-actor/actors"
	"goblin-actor/internal/config"
	"goblin-actor/protocol/downstream"
)

// reloading applies a changed configuration to what runs. One goroutine has it.
type reloading struct {
	cfg    *config.Config // in force
	listen []string       // of the command line, instead of the file's; empty = none
	g      *actors.Gateway
	server *downstream.Server // nil = no listener
	level  *slog.LevelVar
	log    *slog.Logger
}

func newReloading(cfg *config.Config, listen []string, g *actors.Gateway, server *downstream.Server, level *slog.LevelVar, log *slog.Logger) *reloading {
	return &reloading{cfg, listen, g, server, level, log}
}

// reload reads the file again; a bad file changes nothing.
func (r *reloading) reload() {
	next, report := config.Load(r.cfg.Path)
	for _, warning := range report.Warnings {
		r.log.Warn("configuration", "warning", warning.Error())
	}
	if err := report.Err(); err != nil {
		r.log.Error("the configuration is not reloaded: mend it and save again; the running one stays in force", "err", err)
		return
	}
	if len(r.listen) > 0 {
		next.Listen = r.listen
	}
	r.level.Set(levelOf(next.Log))
	if next.Log.Format != r.cfg.Log.Format {
		r.log.Warn("log.format has changed; it takes effect at the next start")
	}
	if r.server != nil {
		r.server.Allow(next.AllowedOrigins, next.AllowedHosts)
	}
	r.cfg = next
	r.g.Reload(next)
}

// follow reloads after every change of the file, until ctx ends. The caller starts it as a goroutine.
func (r *reloading) follow(ctx context.Context) {
	changed, stop := watchConfig(r.cfg.Files, r.log)
	defer stop()
	for {
		select {
		case <-changed:
			r.reload()
		case <-ctx.Done():
			return
		}
	}
}
