package session

import (
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
)

// maxSubscriptions is how many resources one session may be subscribed to.
const maxSubscriptions = 10_000

// reportedSubs bounds what one session adds to a picture of the gateway.
const reportedSubs = 1000

// resource names a resource by its server and the server's own URI.
type resource struct{ server, uri string }

// subscription is a resource the client wants updates of.
type subscription struct {
	public string                    // the URI as the client wrote it; its updates carry the same
	due    []message.ResourceUpdated // updates that no stream has taken yet, one of each URI
}

// reportSubs is what people are told of subscriptions: at most reportedSubs of a client.
func reportSubs(session string, subs map[resource]*subscription) []status.Subscription {
	var all []status.Subscription
	for r, sub := range subs {
		if len(all) == reportedSubs {
			break
		}
		all = append(all, status.Subscription{Session: session, Server: r.server, URI: sub.public, OwnURI: r.uri})
	}
	return all
}

// hearing finds the subscription by which a client hears of a change: to the resource itself, or to what it is a part of. It
// also says how the client knows the resource.
func hearing(view *catalog.View, subs map[resource]*subscription, m *message.ResourceUpdated) (r resource, public string, ok bool) {
	for uri := range message.Covering(m.URI) {
		r = resource{m.Server, uri}
		sub := subs[r]
		if sub == nil {
			continue
		}
		if uri == m.URI {
			return r, sub.public, true
		}
		if view != nil {
			if server := view.Snapshot().Server(m.Server); server != nil {
				return r, view.PublicURI(server, m.URI), true
			}
		}
	}
	return r, "", false
}

// allOf are updates of every resource of the server in subs.
func allOf(server string, subs map[resource]*subscription) (all []message.ResourceUpdated) {
	for r := range subs {
		if u, ok := message.UpdatedURI(r.uri); ok && r.server == server {
			all = append(all, message.ResourceUpdated{Server: server, URI: u.URI, Frame: u.Frame, Span: u.Span})
		}
	}
	return all
}
