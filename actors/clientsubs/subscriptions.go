package clientsubs

import (
	"cmp"
	"encoding/json"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
	"goblin-actor/protocol/downstream"
)

// MaxSubscriptions is how many resources one session or stream may be subscribed to.
const MaxSubscriptions = 10_000

// reportedSubs bounds what one session adds to a picture of the gateway.
const reportedSubs = 1000

// countedBytes is what one subscription of a principal stands for: what is longer counts once for each.
const countedBytes = 512

// CountOf is what a subscription of a session to a resource counts as, of those that its principal may have.
func Cost(uri string) int { return 1 + max(0, len(uri)-1)/countedBytes }

// CountOfStream is what a listen stream counts as: so many as it wants to hear of, whether they are there or not, or as many as the bytes of
// its request make. It keeps that for as long as it lives.
func StreamCost(x *downstream.Exchange) int {
	wishes, _ := FilterOf(x)
	return max(wishes.count(), len(x.Frame.Raw)/countedBytes)
}

// Wishes are what a client wants to hear of on a stream. MCP 2026-07-28, basic/utilities/subscriptions.
type Filter struct {
	ToolsListChanged, PromptsListChanged, ResourcesListChanged bool
	ResourceSubscriptions, TaskIDs                             []string
}

func (w *Filter) count() int { return len(w.ResourceSubscriptions) + len(w.TaskIDs) }

// WishesOf reads the wishes of a subscriptions/listen; false if they cannot be read, or are too many.
func FilterOf(x *downstream.Exchange) (w Filter, ok bool) {
	ok = json.Unmarshal(x.Params.Notifications.Of(x.Frame.Raw), &w) == nil
	return w, ok && w.count() <= MaxSubscriptions
}

// Resource names a resource by its server and the server's own URI.
type Resource struct{ Server, URI string }

// Compare orders resources by server, then by URI.
func (r Resource) Compare(other Resource) int {
	return cmp.Or(cmp.Compare(r.Server, other.Server), cmp.Compare(r.URI, other.URI))
}

// Subscription is a resource the client wants updates of.
type Subscription struct {
	Public string                    // the URI as the client wrote it; its updates carry the same
	Due    []message.ResourceUpdated // updates that no stream has taken yet, one of each URI
	Own    *message.ConnectionOwner  // on whose connections; nil = those that are for everybody
}

// ReportSubscriptions is what people are told of subscriptions: at most reportedSubs of a client.
func ReportSubscriptions(session, who string, subs map[Resource]*Subscription) []status.Subscription {
	var all []status.Subscription
	for r, sub := range subs {
		if len(all) == reportedSubs {
			break
		}
		all = append(all, status.Subscription{Session: session, Who: who, Server: r.Server, URI: sub.Public, OwnURI: r.URI})
	}
	return all
}

// SubscriptionFor finds the subscription by which a client hears of a change: to the resource itself, or to what it is a part of. It
// also says how the client knows the resource. What the client's project shows no more it does not hear of.
func SubscriptionFor(view *catalog.View, subs map[Resource]*Subscription, m *message.ResourceUpdated) (r Resource, public string, ok bool) {
	for uri := range message.Covering(m.URI) {
		r = Resource{m.Server, uri}
		sub := subs[r]
		if sub == nil {
			continue
		}
		if _, task := message.TaskOf(uri); view != nil && (task && !view.Has(m.Server) || !task && !view.Tells(m.Server, m.URI)) {
			return r, "", false
		}
		if uri == m.URI {
			return r, sub.Public, true
		}
		if view != nil {
			if server := view.Snapshot().Server(m.Server); server != nil {
				return r, view.PublicURI(server, m.URI), true
			}
		}
	}
	return r, "", false
}

// UpdatesOfAll are updates of every resource of the server in subs.
func UpdatesOfAll(server string, subs map[Resource]*Subscription) (all []message.ResourceUpdated) {
	for r := range subs {
		if u, ok := message.UpdatedURI(r.URI); ok && r.Server == server {
			all = append(all, message.ResourceUpdated{Server: server, URI: u.URI, Frame: u.Frame, Span: u.Span})
		}
	}
	return all
}
