package message

import (
	"iter"
	"strings"

	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// ResourceChanged says that a resource of the server has changed. URI is the server's own, unquoted.
type ResourceChanged struct {
	Backend kernel.Reference // that has heard of it

	URI   string
	Frame protocol.Frame
	Span  rawjson.Span // params.uri inside Frame.Raw
}

func (ResourceChanged) Class() kernel.Class { return kernel.State }

// Key: of several updates of one resource only the newest counts.
func (u ResourceChanged) Key() any { return updatedBy{u.Backend, u.URI} }

// Size is what it holds.
func (u ResourceChanged) Size() int { return len(u.Frame.Raw) }

// Sum: a server may name any number of resources.
func (u ResourceChanged) Sum() any { return AllResourcesChanged{u.Backend} }

type updatedBy struct {
	backend kernel.Reference
	uri     string
}

// AllResourcesChanged says that more resources have changed than can be named; each that was subscribed to may be one of them.
type AllResourcesChanged struct{ Backend kernel.Reference }

func (AllResourcesChanged) Class() kernel.Class { return kernel.State }

// UpdatedURI is the word that a resource may have changed, made by us because the server could not give it. It fails
// for a URI that is no text, which no server can have listed, and for a task, whose state only its server knows.
func UpdatedURI(uri string) (ResourceChanged, bool) {
	if _, task := TaskOf(uri); task {
		return ResourceChanged{}, false
	}
	params := append(rawjson.AppendQuoted([]byte(`{"uri":`), uri), '}')
	u := ResourceChanged{URI: uri}
	var p protocol.Params
	raw := protocol.AppendNotification(nil, protocol.NotificationResourcesUpdated.String(), params)
	if u.Frame.Parse(raw) != nil || p.Scan(&u.Frame) != nil {
		return ResourceChanged{}, false
	}
	u.Span = p.URI
	return u, true
}

const (
	maxCovering = 256     // parents of a resource that are looked for
	maxParent   = 8 << 10 // bytes of the URI of one
)

// Covering returns the URIs by which somebody who subscribed hears of a change of uri: itself first, then what it is a
// part of, from the root on. A server may name a sub-resource of what was subscribed (MCP 2025-11-25, server/resources,
// subscriptions). It costs as much as uri is deep, whatever the number of subscriptions.
func Covering(uri string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(uri) {
			return
		}
		head := uri[:min(len(uri), maxParent)]
		at := -1
		for range maxCovering {
			next := strings.IndexByte(head[at+1:], '/')
			if next < 0 {
				return
			}
			at += 1 + next
			if !yield(uri[:at]) || at+1 < len(uri) && !yield(uri[:at+1]) {
				return
			}
		}
	}
}
