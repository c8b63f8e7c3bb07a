package meta

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"goblin-actor/actors/catalog"
	"goblin-actor/protocol"
)

const (
	maxPage     = 1000 // cards on one page
	defaultPage = 100
)

func catalogTools(_ context.Context, a *asked, given arguments) (any, error) {
	return a.page(protocol.Tools, given)
}

func catalogPrompts(_ context.Context, a *asked, given arguments) (any, error) {
	return a.page(protocol.Prompts, given)
}

func catalogResources(_ context.Context, a *asked, given arguments) (any, error) {
	return a.page(protocol.Resources, given)
}

func catalogTemplates(_ context.Context, a *asked, given arguments) (any, error) {
	return a.page(protocol.Templates, given)
}

// page lists a kind. Pages go on behind a name, so that they miss nothing that stays while others come and go.
func (a *asked) page(kind protocol.ItemKind, given arguments) (any, error) {
	server, after, limit := given.text("server"), given.text("after"), given.number("limit", defaultPage)
	if err := a.knows(server); err != nil {
		return nil, err
	}
	entries := a.wanted(kind, server, given.text("mimeType"))
	page := cards{Items: []card{}, Total: len(entries)}
	if after != "" {
		entries = slices.DeleteFunc(entries, func(e *catalog.Entry) bool { return e.Public <= after })
	}
	room := pageRoom
	for i, e := range entries {
		if i == limit || room < 0 {
			page.Next = entries[i-1].Public
			break
		}
		c := cardOf(e)
		room -= c.size()
		page.Items = append(page.Items, c)
	}
	return page, nil
}

// of reports whether an item is of the server or, without one, of any but the gateway: its own tools are on the list already of
// whoever calls them.
func of(e *catalog.Entry, server string) bool {
	return e.Server.Name == server || server == "" && !e.Server.Internal
}

// wanted are the items of a kind in the caller's view, of a server and a type if these are given. The slice is the caller's own.
func (a *asked) wanted(kind protocol.ItemKind, server, mimeType string) (list []*catalog.Entry) {
	for _, e := range a.view.Entries(kind) {
		if of(e, server) && (mimeType == "" || hasType(e, mimeType)) {
			list = append(list, e)
		}
	}
	return list
}

// knows says which servers there are when the caller sees none of that name.
func (a *asked) knows(server string) error {
	if server == "" || server == Name {
		return nil
	}
	for _, s := range a.view.Servers() {
		if s.Name == server {
			return nil
		}
	}
	return fmt.Errorf("server not found: %s; server_status says which there are", line(server, maxLabel))
}

// description is an item's whole definition, as it would be listed.
type description struct {
	Server     string          `json:"server"`
	Definition json.RawMessage `json:"definition"`
}

func describe(e *catalog.Entry, fault *protocol.Fault) (any, error) {
	if fault != nil {
		return nil, fault
	}
	return description{e.Server.Name, e.Raw()}, nil
}

func describeTool(_ context.Context, a *asked, given arguments) (any, error) {
	return describe(a.view.Tool(given.text("name")))
}

func describePrompt(_ context.Context, a *asked, given arguments) (any, error) {
	return describe(a.view.Prompt(given.text("name")))
}

// describeResource knows a template by its own text too.
func describeResource(_ context.Context, a *asked, given arguments) (any, error) {
	uri := given.text("uri")
	found, fault := a.view.Resource(uri)
	if fault == nil && found.Entry != nil {
		return describe(found.Entry, nil)
	}
	if e, none := a.view.Template(uri); none == nil {
		return describe(e, nil)
	}
	if fault == nil {
		fault = protocol.NoResource(uri)
	}
	return nil, fault
}
