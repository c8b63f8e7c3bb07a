package clientsubs

import (
	"cmp"
	"encoding/json"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
	"goblin-actor/protocol/downstream"
)

// MaxSubscriptions limits the resources to which one session or stream may be subscribed.
const MaxSubscriptions = 10_000

// reportedSubs limits the subscriptions of one session in the status.
const reportedSubs = 1000

// countedBytes is the number of bytes of a URI or request that count as one subscription.
const countedBytes = 512

// Cost returns how many of its principal's subscriptions a session's subscription to a resource counts as.
func Cost(uri string) int { return 1 + max(0, len(uri)-1)/countedBytes }

// StreamCost returns how many of its principal's subscriptions a stream counts as: the number of resources and tasks in its filter,
// whether they exist or not, or the size of its request in units of countedBytes if that is more. It does not change later.
func StreamCost(x *downstream.Exchange) int {
	wishes, _ := FilterOf(x)
	return max(wishes.count(), len(x.Frame.Raw)/countedBytes)
}

// Filter lists the changes that a client wants to be notified of on a stream. MCP 2026-07-28,
// basic/patterns/subscriptions.
type Filter struct {
	ToolsListChanged, PromptsListChanged, ResourcesListChanged bool
	ResourceSubscriptions, TaskIDs                             []string
}

func (w *Filter) count() int { return len(w.ResourceSubscriptions) + len(w.TaskIDs) }

// FilterOf parses the filter of a subscriptions/listen. It returns false if the filter is invalid or too large.
func FilterOf(x *downstream.Exchange) (w Filter, ok bool) {
	ok = json.Unmarshal(x.Params.Notifications.Of(x.Frame.Raw), &w) == nil
	return w, ok && w.count() <= MaxSubscriptions
}

// Resource identifies a resource by its server and the URI as the server defines it.
type Resource struct{ Server, URI string }

// Compare orders resources by server, then by URI.
func (r Resource) Compare(other Resource) int {
	return cmp.Or(cmp.Compare(r.Server, other.Server), cmp.Compare(r.URI, other.URI))
}

// Subscription is a client's subscription to a resource.
type Subscription struct {
	Public string                    // the URI as the client wrote it, also used in its updates
	Due    []message.ResourceUpdated // updates that wait for a stream, at most one of each URI
	Own    *message.ConnectionOwner  // owner of the connections it uses; nil = shared connections

	updates *updates // nil = there were none
}

// ReportSubscriptions returns the subscriptions for the status, at most reportedSubs.
func ReportSubscriptions(session, who string, subs map[Resource]*Subscription) []status.Subscription {
	var all []status.Subscription
	for r, sub := range subs {
		if len(all) == reportedSubs {
			break
		}
		report := status.Subscription{Session: session, Who: who, Server: r.Server, URI: sub.Public, OwnURI: r.URI}
		sub.updates.report(&report)
		all = append(all, report)
	}
	return all
}

// SubscriptionFor finds the subscription that covers a changed resource: to the resource itself, or to one that it is part of. It
// also returns the URI by which the client knows the changed resource. It finds none if the resource is not in view.
func SubscriptionFor(view *catalog.View, subs map[Resource]*Subscription, m *message.ResourceUpdated) (r Resource, public string, ok bool) {
	for uri := range message.Covering(m.URI) {
		r = Resource{m.Server, uri}
		sub := subs[r]
		if sub == nil {
			continue
		}
		if _, task := message.TaskOf(uri); view != nil && (task && !view.Has(m.Server) || !task && !view.MayNotify(m.Server, m.URI)) {
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

// UpdatesOfAll returns an update of every resource of the server in subs.
func UpdatesOfAll(server string, subs map[Resource]*Subscription) (all []message.ResourceUpdated) {
	for r := range subs {
		if u, ok := message.UpdatedURI(r.URI); ok && r.Server == server {
			all = append(all, message.ResourceUpdated{Server: server, URI: u.URI, Frame: u.Frame, Span: u.Span})
		}
	}
	return all
}
