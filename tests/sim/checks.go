package sim

import (
	"encoding/json"
	"slices"
	"sort"
	"strings"
	"time"

	"goblin-actor/actors/meta"
	"goblin-actor/internal/status"
)

// checkQuiet checks the state of the gateways when no client has a request in progress: every server is ready, or idle if
// it is lazy, and no call is left.
func (w *world) checkQuiet(when string) {
	w.checkRest(when)
	for _, n := range w.nodes {
		if w.failed() {
			return
		}
		n.checkQuiet(when)
		n.checkRevoked(when)
	}
}

func (n *node) checkQuiet(when string) {
	s := n.status()
	for i, server := range s.Servers {
		if server.State != "ready" && !(server.State == "idle" && n.w.servers[i].isLazy()) {
			n.violated("%s: %s is %s (%s)", when, server.Name, server.State, server.Reason)
		}
		if server.InFlight != 0 || server.Queued != 0 || server.Parked != 0 {
			n.violated("%s: %s has %d calls in flight, %d queued, %d parked, although no client waits", when, server.Name, server.InFlight, server.Queued, server.Parked)
		}
	}
	for _, call := range s.Calls {
		n.violated("%s: a call remains: %+v", when, call)
	}
}

// checkEmpty checks that the gateways have no sessions, calls or subscriptions after all clients left.
func (w *world) checkEmpty() {
	for _, n := range w.nodes {
		if w.failed() {
			return
		}
		n.checkEmpty()
	}
}

func (n *node) checkEmpty() {
	s := n.status()
	for _, session := range s.Sessions {
		n.violated("a session remains: %+v", session)
	}
	for _, call := range s.Calls {
		n.violated("a call remains: %+v", call)
	}
	for _, sub := range s.Subscriptions {
		n.violated("a subscription remains: %+v", sub)
	}
	for _, server := range s.Servers {
		if server.Subscribed != 0 || server.Subscribers != 0 {
			n.violated("%s has %d subscriptions of %d subscribers, although all clients left", server.Name, server.Subscribed, server.Subscribers)
		}
	}
}

// checkUpdates checks that the client was notified of the last change of every subscribed resource.
func (w *world) checkUpdates(c *client) {
	if w.failed() || !c.ready() {
		return
	}
	for _, uri := range sortedKeys(c.subs) {
		sub := c.subs[uri]
		for _, s := range w.servers {
			if last := s.changedAt[uri]; !sub.concurrent && slices.Contains(s.uris, uri) && last > sub.since && sub.updatedAt < last {
				w.violated("%s subscribed to %s (at %d) was last notified at %d, but the resource changed at %d", c.name, uri, sub.since, sub.updatedAt, last)
			}
		}
	}
}

// toolsOffered returns the public names of the tools of server i that c sees. A nil c stands for a client without a
// project.
func (w *world) toolsOffered(i int, c *client) (names []string) {
	s, rules := w.servers[i], w.config.Servers[i].Tools
	for _, tool := range s.tools {
		if slices.Contains(rules.Deny, tool) || len(rules.Allow) > 0 && !slices.Contains(rules.Allow, tool) {
			continue
		}
		if other := rules.Rename[tool]; other != "" {
			tool = other
		}
		if public := s.name + "_" + tool; c == nil || c.seesTool(public) {
			names = append(names, public)
		}
	}
	return names
}

// listsMetaTools reports whether the gateway lists its own tools. It does for odd seeds.
func (w *world) listsMetaTools() bool { return w.p.Seed%2 == 1 }

// listsOnlyMetaTools reports whether the gateway lists only its own tools.
func (w *world) listsOnlyMetaTools() bool { return w.p.OnlyMeta && w.listsMetaTools() }

// metaToolNames returns the public names of the gateway's own tools.
func (w *world) metaToolNames() (names []string) {
	for _, raw := range meta.Tools() {
		var tool struct{ Name string }
		if err := json.Unmarshal(raw, &tool); err != nil {
			w.violated("the gateway's own tools: %v", err)
		}
		names = append(names, "goblin_"+tool.Name)
	}
	return names
}

// checkLists checks the lists that the clients have from a node.
func (w *world) checkLists(n *node) {
	if w.failed() {
		return
	}
	for _, c := range w.clients {
		want := w.expectedList(c)
		if c.ready() && c.lastList == nil {
			n.violated("%s has no list", c.name)
		} else if c.ready() && c.lastList.failed {
			n.violated("%s got an error for tools/list: %s", c.name, c.lastList.code)
		} else if c.ready() && !slices.Equal(c.list, want) {
			n.violated("%s lists %v, want %v", c.name, c.list, want)
		}
	}
}

// expectedList returns the tools that a client must see, sorted.
func (w *world) expectedList(c *client) (want []string) {
	if w.listsMetaTools() {
		want = slices.DeleteFunc(w.metaToolNames(), func(name string) bool { return !c.seesTool(name) })
	}
	for i := range w.servers {
		if !w.listsOnlyMetaTools() {
			want = append(want, w.toolsOffered(i, c)...)
		}
	}
	sort.Strings(want)
	return want
}

// checkStatus compares the gateways' status with what clients and servers know.
func (w *world) checkStatus() {
	if w.failed() {
		return
	}
	var all []*status.Snapshot
	for _, n := range w.nodes {
		s := n.status()
		n.checkCatalog(s)
		all = append(all, s)
	}
	sessions, streams := w.missingFromStatus(all)
	if sessions > 0 || streams != 0 { // an actor that gets no turn in time is missing from one status, but not from the next
		w.advance(10 * time.Second)
		all = nil
		for _, n := range w.nodes {
			all = append(all, n.status())
		}
		sessions, streams = w.missingFromStatus(all)
	}
	wanted := map[string]bool{}
	for _, c := range w.clients {
		for uri, sub := range c.subs {
			if !sub.concurrent {
				wanted[uri] = true
			}
		}
	}
	if sessions > 0 || streams != 0 { // more sessions may be shown: those that clients have forgotten stay until SessionIdle
		w.violated("status: %d sessions and %d listen streams of clients are missing", sessions, streams)
	}
	upstream := 0
	for _, s := range all {
		for _, server := range s.Servers {
			upstream += server.Subscribed
		}
	}
	if upstream < len(wanted) {
		w.violated("status: %d subscriptions at servers; clients subscribe to %d resources", upstream, len(wanted))
	}
}

// checkCatalog compares the servers in a node's status with what they offer.
func (n *node) checkCatalog(s *status.Snapshot) {
	all := 0
	for i, server := range s.Servers {
		want := len(n.w.toolsOffered(i, nil))
		all += want
		if server.Tools != want || server.Resources != len(n.w.servers[i].uris)+1 || server.ReadyCount != server.Replicas && !n.w.servers[i].isLazy() {
			n.violated("status of %s: %d tools, %d resources, %d of %d replicas ready; want %d tools, all resources and replicas", server.Name, server.Tools, server.Resources, server.ReadyCount, server.Replicas, want)
		}
	}
	if s.Catalog.Tools != all {
		n.violated("status: %d tools in the catalog, want %d", s.Catalog.Tools, all)
	}
}

// checkStep checks what must hold after every step. To save time, it checks only after every 64th step.
func (w *world) checkStep() {
	if w.scheduler.steps%64 != 0 {
		return
	}
	w.checkBuffered()
	w.checkOverdue()
	w.checkGuarantees()
	for _, n := range w.nodes {
		for _, a := range n.gateway.Mailboxes() {
			if a.Depth > a.Limit {
				n.violated("the mailbox of %s holds %d messages; the limit is %d", a.Name, a.Depth, a.Limit)
			}
		}
	}
}

// maxRequestTime limits the time of requests. Tool calls are exempt, because they may wait for a user's answer. The
// limit is long enough for busy servers, a busy gateway and a busy client, so a request that exceeds it is taken for
// one that never ends. Such a request must be found before its session ends, since requests of ended sessions are not
// checked.
const maxRequestTime = 5 * time.Minute

func (w *world) checkOverdue() {
	for _, c := range w.clients {
		first := 0 // sorting the ids each time would take a seventh of the simulator's time
		for id, a := range c.pending {
			if !a.abandoned && !a.isStream && time.Since(a.sent) > maxRequestTime && !strings.HasPrefix(a.method, "tools/call") &&
				(first == 0 || id < first) {
				first = id
			}
		}
		if first != 0 && !w.failed() {
			w.violated("%s has no response after %v", c.pending[first], time.Since(c.pending[first].sent))
		}
	}
}

// missingFromStatus counts sessions and listen streams of clients that the status does not show. A count is negative if
// the status shows more than the clients know, such as sessions that they have forgotten.
func (w *world) missingFromStatus(all []*status.Snapshot) (sessions, streams int) {
	for _, c := range w.clients {
		switch {
		case c.modern && c.listening != nil:
			streams++
		case !c.modern && c.state == "ready":
			sessions++
		}
	}
	for _, s := range all {
		for _, session := range s.Sessions {
			if session.Protocol >= "2026" {
				streams--
			} else {
				sessions--
			}
		}
	}
	return sessions, streams
}
