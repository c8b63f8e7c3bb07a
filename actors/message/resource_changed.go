package message

import (
	"iter"
	"strings"

	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// ResourceChanged says that a resource of the server has changed. URI is the server's, not the public one, and
// unquoted.
type ResourceChanged struct {
	Backend kernel.Reference // the connection that received the notification

	URI   string
	Frame protocol.Frame
	Span  rawjson.Span // params.uri inside Frame.Raw
}

func (ResourceChanged) Class() kernel.Class { return kernel.State }

// Key implements kernel.Keyed: only the newest update of a resource matters.
func (u ResourceChanged) Key() any { return updatedBy{u.Backend, u.URI} }

// Size returns the size of the frame in bytes.
func (u ResourceChanged) Size() int { return len(u.Frame.Raw) }

// Sum implements kernel.Summarized, for a server that names too many resources.
func (u ResourceChanged) Sum() any { return AllResourcesChanged{u.Backend} }

type updatedBy struct {
	backend kernel.Reference
	uri     string
}

// AllResourcesChanged says that more resources have changed than could be queued individually. Every subscribed
// resource may be among them.
type AllResourcesChanged struct{ Backend kernel.Reference }

func (AllResourcesChanged) Class() kernel.Class { return kernel.State }

// UpdatedURI returns a ResourceChanged that the gateway creates, because the server could not report the change. It returns
// false for a URI that is not valid text, since no server can have listed it, and for a task, since only its server knows its
// state.
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
	maxCovering = 256     // maximum number of slashes that are examined; each yields one or two parents
	maxParent   = 8 << 10 // maximum length of a parent's URI, in bytes
)

// Covering returns the URIs whose subscribers are notified of a change of uri: uri itself, then its parents, starting at the
// root. A server may name a sub-resource of a subscribed one (MCP 2025-11-25, server/resources, subscriptions). The cost
// depends on the depth of uri, not on the number of subscriptions.
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
