package actors

import (
	"context"
	"strconv"
	"strings"

	"goblin-actor/actors/catalog"
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
