package gateway

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"goblin-actor/actors"
	"goblin-actor/internal/client"
	"goblin-actor/internal/config"
	"goblin-actor/internal/inprocess"
	"goblin-actor/internal/secret"
)

const (
	stopGrace = 5 * time.Second       // for actors and servers to end, after the drain
	lookStep  = 20 * time.Millisecond // how often it is looked whether servers are there
)

// Gateway is a running gateway. Its methods may be called from any goroutine.
type Gateway struct {
	actors *actors.Gateway
	client *inprocess.Client // asks for everything but calls with questions of their own
	self   client.Options    // who that client is
	log    *slog.Logger

	mu  sync.Mutex // held while the configuration is changed
	cfg *config.Config

	known secret.Redactor // what is secret in the configurations so far

	subscriptions subscriptions
	calls         sync.WaitGroup // that have a client of their own
	stopping      sync.Once
	stopped       chan struct{} // closed when it begins to stop
	err           error         // of that
}

// Start starts a gateway and returns when each of its servers is ready or has failed once; those that failed are tried again for as
// long as it runs. An error is the configuration's, or the context's: then nothing is left running.
func Start(ctx context.Context, c Config) (*Gateway, error) {
	log := c.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	cfg, err := c.parse(log)
	if err != nil {
		return nil, err
	}
	g := &Gateway{cfg: cfg, log: log, stopped: make(chan struct{})}
	g.known.Replace("configuration", cfg.Secrets...)
	g.self = client.Options{Name: cmp.Or(c.Name, "goblin-actor"), Version: cmp.Or(c.Version, "devel"), Project: c.Project, OnNotification: g.notified}
	g.subscriptions.of = map[string][]chan struct{}{}
	if g.actors, err = actors.Start(cfg, actors.Options{Version: g.self.Version, Log: log, State: c.StateFile, Secrets: &g.known}); err != nil {
		return nil, err
	}
	if err = g.wait(ctx, ready); err == nil {
		g.client, err = g.dial(ctx, c.Questions)
	}
	if err != nil {
		return nil, errors.Join(errorOf(err), g.Close())
	}
	return g, nil
}

// dial opens a session at the gateway for a client that answers these questions.
func (g *Gateway) dial(ctx context.Context, q *Questions) (*inprocess.Client, error) {
	g.mu.Lock()
	limits := g.cfg.Limits
	g.mu.Unlock()
	o := g.self
	if q != nil {
		o.Capabilities, o.Answer = q.capabilities(), q.answer
	}
	return inprocess.Dial(ctx, g.actors, limits, o, g.log)
}

// Stop refuses new calls, lets those that run finish for as long as shutdown.drain (10 s) and ctx's deadline allow, and ends every
// server. It returns when all that is over. Calling it again, or Close, waits for the same end.
func (g *Gateway) Stop(ctx context.Context) error {
	g.mu.Lock()
	drain := g.cfg.Drain
	g.mu.Unlock()
	if deadline, ok := ctx.Deadline(); ok {
		drain = min(drain, max(0, time.Until(deadline)))
	}
	return g.end(drain)
}

// Close is Stop without waiting for calls that run: they fail with ErrStopped.
func (g *Gateway) Close() error { return g.end(0) }

// end stops everything once.
func (g *Gateway) end(drain time.Duration) error {
	g.stopping.Do(func() {
		close(g.stopped)
		ctx, cancel := context.WithTimeout(context.Background(), drain+stopGrace)
		defer cancel()
		g.err = g.actors.Stop(ctx, drain)
		if g.client != nil {
			g.client.Close()
		}
		g.subscriptions.end()
		g.calls.Wait()
	})
	return g.err
}
