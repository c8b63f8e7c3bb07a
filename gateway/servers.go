package gateway

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// AddServer adds a server and returns when its items are in the catalog. For a server that starts on demand it returns
// at once. If the first start fails, AddServer returns an *Error with the code SERVER_UNAVAILABLE and the reason. In
// that case, and if ctx ends, the server stays in the configuration, and the gateway retries it until RemoveServer is
// called.
func (g *Gateway) AddServer(ctx context.Context, name string, s Server) error {
	namespace := name // clients see the members of a group under the group's name
	err := g.change(func(cfg *config.Config) (*config.Config, error) {
		next, err := g.functions.with(cfg, name, s, &g.known, g.log)
		if err == nil {
			namespace = cmp.Or(next.Servers[len(next.Servers)-1].Group, name)
		}
		return next, err
	})
	if err != nil {
		return err
	}
	var server status.Server
	err = g.wait(ctx, func(s *status.Snapshot) bool {
		i := slices.IndexFunc(s.Servers, func(v status.Server) bool { return v.Name == namespace })
		if i >= 0 {
			server = s.Servers[i]
		}
		return i >= 0 && !slices.Contains(s.Waiting, namespace)
	})
	switch {
	case err != nil:
		return err
	case server.FailedFirst && server.ReadyCount == 0:
		return &Error{Code: string(protocol.ServerUnavailable), Message: server.Reason, Server: namespace, Retryable: true}
	}
	return g.awaitCatalog(ctx)
}

// RemoveServer removes a server and returns when its items are no longer in the catalog. Running calls of the server
// fail. If other members of the server's group remain, RemoveServer returns at once.
func (g *Gateway) RemoveServer(ctx context.Context, name string) error {
	namespace := name
	err := g.change(func(cfg *config.Config) (next *config.Config, err error) {
		next, namespace, err = without(cfg, name)
		return next, err
	})
	if err != nil || namespace == "" {
		return err
	}
	err = g.wait(ctx, func(s *status.Snapshot) bool {
		return !slices.ContainsFunc(s.Servers, func(v status.Server) bool { return v.Name == namespace })
	})
	if err != nil {
		return err
	}
	g.mu.Lock()
	g.functions.drop(g.cfg)
	if !slices.ContainsFunc(g.cfg.Servers, func(s config.Server) bool { return s.Name == name }) {
		g.known.Replace(secretsOf(name))
	}
	g.mu.Unlock()
	return g.awaitCatalog(ctx)
}

// change replaces the configuration with the result of edit and applies it.
func (g *Gateway) change(edit func(*config.Config) (*config.Config, error)) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.stopped:
		return ErrStopped
	default:
	}
	next, err := edit(g.cfg)
	if err != nil {
		return err
	}
	g.cfg = next
	g.actors.Reload(next)
	return nil
}

// ready reports whether every server is ready or has failed once.
func ready(s *status.Snapshot) bool { return s.Ready }

// wait blocks until the gateway's status satisfies the predicate is. It returns the errors of until.
func (g *Gateway) wait(ctx context.Context, is func(*status.Snapshot) bool) error {
	return g.until(ctx, func() (bool, error) {
		s, err := g.actors.Status(ctx)
		return err == nil && is(s), err
	})
}

// awaitCatalog blocks until all sessions see the current catalog.
func (g *Gateway) awaitCatalog(ctx context.Context) error {
	if err := g.actors.AwaitCatalog(ctx); err != nil {
		return fmt.Errorf("gateway: wait for the catalog: %w", err)
	}
	return nil
}

// until calls a function repeatedly until it reports true. It returns an error if ctx ends, the gateway stops or the
// function fails.
func (g *Gateway) until(ctx context.Context, done func() (bool, error)) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		ok, err := done()
		if ok {
			return nil
		}
		select {
		case <-g.stopped:
			return ErrStopped
		default:
		}
		if err != nil {
			return fmt.Errorf("gateway: wait for servers: %w", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("gateway: wait for servers: %w", context.Cause(ctx))
		}
	}
}
