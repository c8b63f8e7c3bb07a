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
	"goblin-actor/internal/serving"
	"goblin-actor/protocol/downstream"
)

const (
	stopGrace = 5 * time.Second       // time for actors and servers to end after the drain
	pollEvery = 20 * time.Millisecond // interval between status checks while waiting for servers
)

// Gateway is a running gateway. Its methods may be called concurrently.
type Gateway struct {
	actors *actors.Gateway
	client *inprocess.Client // for everything except calls with their own Questions; each of those has its own client
	self   client.Options    // options of all clients that dial opens, without Capabilities and Answer
	log    *slog.Logger

	mu  sync.Mutex // guards cfg and sessions
	cfg *config.Config

	functions functions                    // servers in this process
	sessions  map[*inprocess.Pipe]struct{} // open sessions of Dial

	mount    *downstream.Mount // serves clients over HTTP
	security *serving.Security // authenticates the clients of mount; nil without "auth": the program authenticates them

	known secret.Redactor // secrets of the configuration and of servers, also of those being removed

	subscriptions subscriptions
	calls         sync.WaitGroup // running calls that have their own client
	stopping      sync.Once
	stopped       chan struct{} // closed when the gateway begins to stop
	err           error         // result of stopping
}

// Start starts a gateway and returns when each server is ready or has failed once. Servers that start on demand are not
// waited for. Failed servers are retried while the gateway runs. If Start returns an error, for example because the
// configuration is invalid or ctx has ended, it leaves nothing running.
func Start(ctx context.Context, c Config) (*Gateway, error) {
	log := c.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	g := &Gateway{log: log, stopped: make(chan struct{})}
	cfg, err := c.parse(&g.functions, &g.known, log)
	if err != nil {
		return nil, err
	}
	g.cfg = cfg
	serving.NoteAlone(cfg, log)
	g.self = client.Options{Name: cmp.Or(c.Name, "goblin-actor"), Version: cmp.Or(c.Version, "devel"), Project: c.Project, OnNotification: g.notified}
	g.subscriptions.of = map[string][]chan struct{}{}
	if g.actors, err = actors.Start(cfg, actors.Options{Version: g.self.Version, Log: log, State: c.StateFile, Secrets: &g.known, Embedded: g.functions.open(log)}); err != nil {
		return nil, err
	}
	if g.mount, g.security, err = g.newMount(cfg, log); err == nil {
		err = g.wait(ctx, ready)
	}
	if err == nil {
		g.client, err = g.dial(ctx, c.Questions)
	}
	if err != nil {
		return nil, errors.Join(errorOf(err), g.Close())
	}
	return g, nil
}

// dial opens a session with the gateway. Its client answers servers' requests with q.
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

// Stop refuses new calls and waits for running calls until shutdown.drain (10 s by default) or ctx's deadline has
// passed, whichever comes first. Then it stops every server, and returns when all have ended. Further calls of Stop and
// Close wait until the gateway has stopped and return the same error.
func (g *Gateway) Stop(ctx context.Context) error {
	g.mu.Lock()
	drain := g.cfg.Drain
	g.mu.Unlock()
	if deadline, ok := ctx.Deadline(); ok {
		drain = min(drain, max(0, time.Until(deadline)))
	}
	return g.end(drain)
}

// Close is like Stop, but does not wait for running calls. They fail.
func (g *Gateway) Close() error { return g.end(0) }

// end stops everything once. Before that, it waits for running calls for at most drain.
func (g *Gateway) end(drain time.Duration) error {
	g.stopping.Do(func() {
		close(g.stopped)
		ctx, cancel := context.WithTimeout(context.Background(), drain+stopGrace)
		defer cancel()
		g.err = errors.Join(g.actors.Stop(ctx, drain), g.functions.leftBehind())
		if g.client != nil {
			g.client.Close()
		}
		g.hangUp()
		if g.mount != nil {
			g.mount.Close()
		}
		if g.security != nil {
			g.security.Close()
		}
		g.subscriptions.end()
		g.calls.Wait()
	})
	return g.err
}
