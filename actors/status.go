package actors

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/monitor"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// Items returns all items of the catalog, or nil if known is still its version. It blocks until the gateway actor has answered. The
// lists are built on the caller's goroutine.
func (g *Gateway) Items(ctx context.Context, known uint64) (*status.Items, error) {
	s, err := g.catalog(ctx)
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return &status.Items{}, nil
	case s.Version == known:
		return nil, nil
	}
	return itemsOf(s), nil
}

// catalog returns the current catalog, or nil if there is none yet. It blocks until the gateway actor has answered.
func (g *Gateway) catalog(ctx context.Context) (*catalog.Snapshot, error) {
	reply := make(chan *catalog.Snapshot, 1)
	g.self.Tell(message.GetCatalog{Reply: reply})
	select {
	case s := <-reply:
		return s, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ListedTools returns the tools of every enabled server as the server listed them, by server. It blocks until the gateway actor
// has answered. The lists are built on the caller's goroutine.
func (g *Gateway) ListedTools(ctx context.Context) (map[string][]catalog.ListedTool, error) {
	s, err := g.catalog(ctx)
	if err != nil || s == nil {
		return nil, err
	}
	tools := make(map[string][]catalog.ListedTool, len(s.Servers()))
	for _, server := range s.Servers() {
		tools[server.Name] = s.ListedTools(server.Name)
	}
	return tools, nil
}

func itemsOf(s *catalog.Snapshot) *status.Items {
	view := s.Whole()
	of := func(kind protocol.ItemKind) []status.Item {
		entries := view.Entries(kind)
		items := make([]status.Item, len(entries))
		for i, e := range entries {
			items[i] = itemOf(e)
		}
		return items
	}
	return &status.Items{
		Version: s.Version, Tools: of(protocol.Tools), Prompts: of(protocol.Prompts),
		Resources: of(protocol.Resources), Templates: of(protocol.Templates),
	}
}

// projectsOf returns each project with its servers and the numbers of its items.
func projectsOf(s *catalog.Snapshot) (list []status.Project) {
	for _, name := range s.Projects() {
		view := s.Project(name)
		count := func(kind protocol.ItemKind) (n int) {
			for _, e := range view.Entries(kind) {
				if !e.Server.Internal { // the gateway's own tools do not count
					n++
				}
			}
			return n
		}
		p := status.Project{Name: name, Servers: []string{}, Tools: count(protocol.Tools), Prompts: count(protocol.Prompts),
			Resources: count(protocol.Resources), Templates: count(protocol.Templates)}
		for _, server := range view.Servers() {
			p.Servers = append(p.Servers, server.Name)
		}
		list = append(list, p)
	}
	return list
}

func itemOf(e *catalog.Entry) status.Item {
	item := status.Item{Server: e.Server.Name, Public: e.Public, Original: e.Original, Size: -1, Raw: short(string(e.Raw()))}
	p, err := protocol.ParseItem(e.Raw())
	if err != nil {
		return item // cannot happen: the catalog has parsed it
	}
	text := func(span rawjson.Span) string {
		s, _ := rawjson.Unquote(span.Of(p.Raw)) // "" if it is absent or not a string
		return short(s)
	}
	item.Other, item.Internal, item.ReadOnly = e.Spelling(), e.Server.Internal, e.ReadOnly()
	item.Name, item.Title, item.Description, item.MIMEType = text(p.Name), text(p.Title), text(p.Description), text(p.MIMEType)
	if size, err := strconv.ParseInt(string(p.Size.Of(p.Raw)), 10, 64); err == nil && size >= 0 {
		item.Size = size
	}
	return item
}

func short(s string) string {
	if len(s) <= status.MaxItemRaw {
		return s
	}
	return strings.ToValidUTF8(s[:status.MaxItemRaw], "") + "…"
}

// Logins returns the logins that servers need or have. It blocks until the token actors have answered, at most 0.5 s, or until ctx ends.
func (g *Gateway) Logins(ctx context.Context) ([]status.Login, error) {
	return monitor.Logins(ctx, g.system), nil
}

// Act starts an operator's action and does not wait for its completion. It returns status.ErrNotThere for an unknown server or
// call, and status.ErrUnknownVerb for an unknown verb.
func (g *Gateway) Act(ctx context.Context, a status.Action) error {
	var err error
	switch a.Verb {
	case status.Restart:
		err = g.restart(ctx, a.Server)
	case status.Cancel:
		err = g.cancelCall(a.Call)
	case status.Record:
		err = g.record(ctx, a)
	default:
		return fmt.Errorf("%w: %q", status.ErrUnknownVerb, a.Verb)
	}
	g.recordAction(string(a.Verb), a.Server, cmp.Or(a.Call, a.Actor), err)
	return err
}

// restart reconnects a server, or one member of a group.
func (g *Gateway) restart(ctx context.Context, name string) error {
	if pool, ok := g.system.Lookup("gateway/pool/" + name); ok {
		pool.Tell(message.Restart{})
		return nil
	}
	snapshot, err := g.Status(ctx)
	if err != nil {
		return err
	}
	for _, b := range snapshot.Backends {
		if pool, ok := g.system.Lookup("gateway/pool/" + b.Server); ok && b.Member == name {
			pool.Tell(message.Restart{Member: name})
			return nil
		}
	}
	return fmt.Errorf("restart server %q: %w", name, status.ErrNotThere)
}

// cancelCall cancels the call with the status.Call.ID id: the name of a stateless session, or the beginning of a session's name,
// followed by "/" and the call's number.
func (g *Gateway) cancelCall(id string) error {
	gone := fmt.Errorf("cancel call %q: %w", id, status.ErrNotThere)
	at := strings.LastIndexByte(id, '/')
	if at < 0 {
		return gone
	}
	seq, err := strconv.ParseUint(id[at+1:], 10, 64)
	if err != nil {
		return gone
	}
	name := "gateway/" + id[:at]
	all := g.system.Actors()
	i := slices.IndexFunc(all, func(i kernel.Info) bool {
		return i.Kind == "desk" && i.Name == name || i.Kind == "session" && len(id[:at]) > len("session/") && strings.HasPrefix(i.Name, name)
	})
	if i < 0 {
		return gone
	}
	if holder, ok := g.system.Lookup(all[i].Name); ok {
		holder.Tell(message.Abort{Seq: seq})
		return nil
	}
	return gone
}
