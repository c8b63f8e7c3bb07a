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

func catalogTools(_ context.Context, a *access, given arguments) (any, error) {
	return a.page(protocol.Tools, given)
}

func catalogPrompts(_ context.Context, a *access, given arguments) (any, error) {
	return a.page(protocol.Prompts, given)
}

func catalogResources(_ context.Context, a *access, given arguments) (any, error) {
	return a.page(protocol.Resources, given)
}

func catalogTemplates(_ context.Context, a *access, given arguments) (any, error) {
	return a.page(protocol.Templates, given)
}

// page lists items of one kind. A page continues after a name instead of at an offset, so items that are added or
// removed in between do not make it skip others.
func (a *access) page(kind protocol.ItemKind, given arguments) (any, error) {
	server, after, limit := given.text("server"), given.text("after"), given.number("limit", defaultPage)
	if err := a.checkServer(server); err != nil {
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

// ofServer reports whether an item belongs to the server or, if server is "", to any server but the gateway's own.
// The caller's tool list already contains the gateway's tools.
func ofServer(e *catalog.Entry, server string) bool {
	return e.Server.Name == server || server == "" && !e.Server.Internal
}

// wanted returns the items of a kind in the caller's view, filtered by server and type if given. The caller owns the
// slice.
func (a *access) wanted(kind protocol.ItemKind, server, mimeType string) (list []*catalog.Entry) {
	for _, e := range a.view.Entries(kind) {
		if ofServer(e, server) && (mimeType == "" || hasType(e, mimeType)) {
			list = append(list, e)
		}
	}
	return list
}

// checkServer returns an error if the caller's view has no server of that name.
func (a *access) checkServer(server string) error {
	if server == "" || server == Name {
		return nil
	}
	for _, s := range a.view.Servers() {
		if s.Name == server {
			return nil
		}
	}
	return fmt.Errorf("server not found: %s; call server_status for the list", line(server, maxLabel))
}

// description is an item's whole definition as a list would show it.
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

func describeTool(_ context.Context, a *access, given arguments) (any, error) {
	return describe(a.view.Tool(given.text("name")))
}

func describePrompt(_ context.Context, a *access, given arguments) (any, error) {
	return describe(a.view.Prompt(given.text("name")))
}

// describeResource accepts a resource URI, or the text of a URI template.
func describeResource(_ context.Context, a *access, given arguments) (any, error) {
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
