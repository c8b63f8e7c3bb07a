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

// AddServer adds a server and returns when what it offers is in the catalog. When its first attempt fails the error is an *Error with the
// reason, SERVER_UNAVAILABLE; the server is there all the same and tried again, until RemoveServer. The same goes for ctx's end.
func (g *Gateway) AddServer(ctx context.Context, name string, s Server) error {
	namespace := name // what is seen of a member of a group is the group
	err := g.change(func(cfg *config.Config) (*config.Config, error) {
		next, err := with(cfg, name, s, g.log)
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
	return g.seen(ctx)
}

// RemoveServer ends a server and returns when it is gone, and what it offered with it; of a group, when its last member is. Calls that run
// there fail.
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
	return g.seen(ctx)
}

// change puts another configuration in force.
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
	g.known.Replace("configuration", append(g.cfg.Secrets[:len(g.cfg.Secrets):len(g.cfg.Secrets)], next.Secrets...)...)
	g.cfg = next
	g.actors.Reload(next)
	return nil
}

// ready: each server is, or has failed once.
func ready(s *status.Snapshot) bool { return s.Ready }

// wait blocks until the gateway's picture of itself is as it should be.
func (g *Gateway) wait(ctx context.Context, is func(*status.Snapshot) bool) error {
	return g.until(ctx, func() (bool, error) {
		s, err := g.actors.Status(ctx)
		return err == nil && is(s), err
	})
}

// seen blocks until our own session sees what the gateway itself knows of the catalog already.
func (g *Gateway) seen(ctx context.Context) error {
	if err := g.actors.Seen(ctx); err != nil {
		return fmt.Errorf("gateway: wait for the catalog: %w", err)
	}
	return nil
}

// until looks again and again, until it is so, ctx ends or the gateway stops.
func (g *Gateway) until(ctx context.Context, so func() (bool, error)) error {
	tick := time.NewTicker(lookStep)
	defer tick.Stop()
	for {
		ok, err := so()
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
