package rollout

import (
	"cmp"
	"context"
	"slices"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
)

const (
	pollStep     = 100 * time.Millisecond // interval between polls of the status
	leavingLimit = 5 * time.Second        // maximum time that a removed server of the same name may still be listed
	publishLimit = time.Second            // maximum time until a changed catalog is published
)

// Change is what an edit of the configuration should do to one server.
type Change struct {
	Server string
	Runs   bool   // the server should run; false: it should be disabled or gone
	Lazy   bool   // the server starts on its first call (startup: lazy); Resolve sets it
	Tool   string // only this tool of the server was enabled or disabled; "" = the server itself
}

// Resolve looks up in the file under which name the gateway lists the server, and whether it starts on its first call.
// It changes nothing if the server is not to run, or is not found.
func (c *Change) Resolve(path string) {
	cfg, _ := config.Outline(path)
	if cfg == nil || !c.Runs {
		return
	}
	if i := slices.IndexFunc(cfg.Servers, func(s config.Server) bool { return s.Name == c.Server }); i >= 0 {
		c.Lazy = cfg.Servers[i].Startup == "lazy"
		c.Server = cmp.Or(cfg.Servers[i].Group, c.Server) // the members of a group are listed as one server
	}
}

// AwaitCatalog waits up to publishLimit until the version of the catalog differs from before. It returns nil even if the
// version has not changed by then.
func AwaitCatalog(ctx context.Context, source status.Source, before uint64) error {
	for began := time.Now(); time.Since(began) < publishLimit; {
		s, err := source.Status(ctx)
		if err != nil {
			return err
		}
		if s.Catalog.Version != before {
			return nil
		}
		select {
		case <-time.After(pollStep / 2):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Await polls the status for up to limit, until the change has taken effect or failed. It returns the server's last status,
// or nil if the server is not listed. For a server that should not run, Await waits at most leavingLimit, and nil means that
// the server is gone or disabled. For a listed server that should run, Await calls progress before each further poll with
// the server and the time waited.
func (c Change) Await(ctx context.Context, source status.Source, limit time.Duration, progress func(*status.Server, time.Duration)) (*status.Server, error) {
	began := time.Now()
	if !c.Runs {
		limit = min(limit, leavingLimit)
	}
	var ready time.Time // when the server was first seen to take calls; its items are published a moment later
	tick := time.NewTicker(pollStep)
	defer tick.Stop()
	for {
		s, err := source.Status(ctx)
		if err != nil {
			return nil, err
		}
		server := find(s, c.Server)
		waited := time.Since(began)
		settling := false
		if c.Runs && server != nil && takesCalls(server) && (server.OffersNothing() || slices.Contains(s.Waiting, server.Name)) {
			if ready.IsZero() {
				ready = time.Now()
			}
			settling = time.Since(ready) < publishLimit
		}
		if !c.Runs && (server == nil || server.State == string(message.Disabled)) {
			return nil, nil
		}
		if c.Runs && !settling && c.settled(server, waited) || waited > limit {
			return server, nil
		}
		if c.Runs && server != nil {
			progress(server, waited)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// find returns the server of that name. A removed server that is still draining may share the name of its successor, so
// the first one that is not draining or stopped is preferred. If there is no server of that name, find returns the
// member of a group with that name.
func find(s *status.Snapshot, name string) *status.Server {
	var found *status.Server
	for i := range s.Servers {
		if s.Servers[i].Name == name && (found == nil || found.State == string(message.Draining) || found.State == string(message.Stopped)) {
			found = &s.Servers[i]
		}
	}
	if found == nil {
		return s.Member(name)
	}
	return found
}

// takesCalls reports whether the server accepts calls. An idle server does, although it is not running.
func takesCalls(server *status.Server) bool {
	return server.State == string(message.Ready) || server.State == string(message.Idle)
}

// settled reports whether waiting longer for a server that should run would change nothing.
func (c Change) settled(server *status.Server, waited time.Duration) bool {
	if server == nil {
		return false
	}
	switch message.Phase(server.State) {
	case message.Ready, message.Waiting:
		return server.Settled
	case message.Misconfigured, message.NeedsLogin, message.Disabled:
		return true
	case message.Draining, message.Stopped:
		return waited > leavingLimit
	case message.Idle: // unless it is lazy, it is waiting for its turn to start
		return c.Lazy && server.Settled
	}
	return server.FailedFirst
}

// Outcome is the result of a change for a server that should run.
type Outcome int

// The outcomes of a change.
const (
	Unknown    Outcome = iota // the gateway does not list the server
	Started                   // it is ready, or lazy and idle
	Starting                  // it has neither started nor failed yet
	NeedsLogin                // it waits for a login
	Failed                    // any other state: for example, its start failed or it is disabled
)

// OutcomeOf returns the outcome for a server that Await returned.
func (c Change) OutcomeOf(server *status.Server) Outcome {
	if server == nil {
		return Unknown
	}
	switch phase := message.Phase(server.State); phase {
	case message.Ready, message.Idle, message.Connecting, message.Handshaking, message.Syncing:
		if phase == message.Ready || phase == message.Idle && c.Lazy {
			return Started
		}
		if !server.FailedFirst {
			return Starting
		}
	case message.NeedsLogin:
		return NeedsLogin
	}
	return Failed
}
