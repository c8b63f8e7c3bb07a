package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
)

// sessionLetters is the length of a status.Session.ID.
const sessionLetters = 8

// Act starts an operator's action and does not wait for its completion. Its errors wrap status.ErrNotThere for an unknown server,
// session, call or actor, status.ErrRestarted if the action was aimed at an earlier one, status.ErrBadAction for an invalid action,
// status.ErrForbidden for one that the configuration forbids, and status.ErrUnknownVerb for an unknown verb. The audit log records
// the action and its result, except for an unknown verb.
func (g *Gateway) Act(ctx context.Context, a status.Action) error {
	err := g.act(ctx, a)
	if !errors.Is(err, status.ErrUnknownVerb) {
		verb, server, item := recordedAs(a)
		g.RecordAct(verb, server, item, err)
	}
	return err
}

// recordedAs returns the method, server and item of an action's audit record. They come only from members that the verb takes.
func recordedAs(a status.Action) (method, server, item string) {
	method = string(a.Verb)
	switch a.Verb {
	case status.Restart:
		server = a.Server
	case status.Cancel:
		item = a.Call
	case status.End:
		item = a.Session
	case status.Record:
		server, item = a.Server, a.Actor
	case status.Enable, status.Disable:
		server, item = a.Server, a.Tool
	case status.Payloads:
		server = a.Server
		if a.Stop {
			method = "stop " + method
		}
	}
	return method, server, item
}

func (g *Gateway) act(ctx context.Context, a status.Action) error {
	if !a.Aim.IsOf(g.started) {
		return status.ErrAnotherGateway
	}
	if err := a.Check(); err != nil {
		return err
	}
	switch a.Verb {
	case status.Restart:
		return g.restart(ctx, a)
	case status.Cancel:
		return g.cancelCall(ctx, a)
	case status.End:
		return g.endSession(ctx, a)
	case status.Record:
		return g.record(ctx, a)
	case status.Payloads:
		return g.keepPayloads(ctx, a)
	}
	return fmt.Errorf("%w: %q", status.ErrUnknownVerb, a.Verb)
}

// restart reconnects a server, or one member of a group.
func (g *Gateway) restart(ctx context.Context, a status.Action) error {
	name := "server " + a.Server
	if pool, ok := g.system.Lookup("gateway/pool/" + a.Server); ok {
		return told(ctx, "restart", name, func(reply chan<- error) { pool.Tell(message.Restart{Aim: a.Aim, Reply: reply}) })
	}
	snapshot, err := g.Status(ctx)
	if err != nil {
		return err
	}
	for _, b := range snapshot.Backends {
		if pool, ok := g.system.Lookup("gateway/pool/" + b.Server); ok && b.Member == a.Server {
			return told(ctx, "restart", name, func(reply chan<- error) {
				pool.Tell(message.Restart{Member: a.Server, Aim: a.Aim, Reply: reply})
			})
		}
	}
	return fmt.Errorf("restart server %q: %w", a.Server, status.ErrNotThere)
}

// told calls tell, which sends a request, and returns the error in the answer. The error names what the request is about and,
// unless that has been replaced, the verb.
func told(ctx context.Context, verb, name string, tell func(reply chan<- error)) error {
	reply := make(chan error, 1)
	tell(reply)
	select {
	case err := <-reply:
		switch {
		case errors.Is(err, status.ErrRestarted):
			return fmt.Errorf("%s %w; look at it again before you repeat the action", name, err)
		case err != nil:
			return fmt.Errorf("%s %s: %w", verb, name, err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s %s: %w", verb, name, ctx.Err())
	}
}

// cancelCall cancels the call with the status.Call.ID a.Call: the name of a stateless session, or the beginning of a session's name,
// followed by "/" and the call's number.
func (g *Gateway) cancelCall(ctx context.Context, a status.Action) error {
	gone := fmt.Errorf("cancel call %q: %w", a.Call, status.ErrNotThere)
	at := strings.LastIndexByte(a.Call, '/')
	if at < 0 {
		return gone
	}
	seq, err := strconv.ParseUint(a.Call[at+1:], 10, 64)
	if err != nil {
		return gone
	}
	name := "gateway/" + a.Call[:at]
	holder, ok := g.find(func(i kernel.Info) bool {
		return i.Kind == "desk" && i.Name == name || i.Kind == "session" && at > len("session/") && strings.HasPrefix(i.Name, name)
	})
	if !ok {
		return gone
	}
	return told(ctx, "cancel", "call "+strconv.Quote(a.Call), func(reply chan<- error) {
		holder.Tell(message.Abort{Seq: seq, Aim: a.Aim, Reply: reply})
	})
}

// endSession ends the session with the status.Session.ID a.Session.
func (g *Gateway) endSession(ctx context.Context, a status.Action) error {
	name := "gateway/session/" + a.Session
	holder, ok := g.find(func(i kernel.Info) bool {
		return i.Kind == "session" && len(a.Session) == sessionLetters && strings.HasPrefix(i.Name, name)
	})
	if !ok {
		return fmt.Errorf("end session %q: %w", a.Session, status.ErrNotThere)
	}
	return told(ctx, "end", "session "+strconv.Quote(a.Session), func(reply chan<- error) { holder.Tell(message.End{Aim: a.Aim, Reply: reply}) })
}

// find returns the first actor that matches.
func (g *Gateway) find(match func(kernel.Info) bool) (kernel.Reference, bool) {
	all := g.system.Actors()
	if i := slices.IndexFunc(all, match); i >= 0 {
		return g.system.Lookup(all[i].Name)
	}
	return kernel.Reference{}, false
}
