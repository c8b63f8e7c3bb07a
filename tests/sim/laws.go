package sim

import (
	"context"
	"encoding/json"
	"slices"
	"sort"
	"strings"
	"testing/synctest"
	"time"

	"goblin-actor/actors/meta"
	"goblin-actor/internal/status"
)

// status asks the gateway for its books.
func (w *world) status() *status.Snapshot {
	var s *status.Snapshot
	done := false
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		s, _ = w.gateway.Status(ctx)
		done = true
		w.fate.wake()
	}()
	w.fate.run(time.Now().Add(2*time.Minute), func() bool { return done })
	synctest.Wait()
	if s == nil {
		w.broken("no status")
		return &status.Snapshot{}
	}
	return s
}

// law is what must hold whenever all is quiet and everybody is there.
func (w *world) law(when string) {
	if w.failed() {
		return
	}
	s := w.status()
	for i, server := range s.Servers {
		if server.State != "ready" && !(server.State == "idle" && w.servers[i].sleeps()) {
			w.broken("%s: %s is %s (%s)", when, server.Name, server.State, server.Reason)
		}
		if server.InFlight != 0 || server.Queued != 0 || server.Parked != 0 {
			w.broken("%s: %s has %d calls in flight, %d queued, %d parked; nobody waits", when, server.Name, server.InFlight, server.Queued, server.Parked)
		}
	}
	for _, call := range s.Calls {
		w.broken("%s: a call is left: %+v", when, call)
	}
	w.nothingLeft(when)
}

// books must be empty when all have left.
func (w *world) books() {
	if w.failed() {
		return
	}
	s := w.status()
	for _, session := range s.Sessions {
		w.broken("a session is left: %+v", session)
	}
	for _, call := range s.Calls {
		w.broken("a call is left: %+v", call)
	}
	for _, sub := range s.Subscriptions {
		w.broken("a subscription is left: %+v", sub)
	}
	for _, server := range s.Servers {
		if server.Subscribed != 0 || server.Subscribers != 0 {
			w.broken("%s has %d subscriptions of %d subscribers, and nobody is there", server.Name, server.Subscribed, server.Subscribers)
		}
	}
}

// told: every subscriber has heard of the last change.
func (w *world) told(c *client) {
	if w.failed() || !c.ready() {
		return
	}
	for _, uri := range sortedKeys(c.subs) {
		sub := c.subs[uri]
		for _, s := range w.servers {
			if last := s.changed[uri]; !sub.unsure && slices.Contains(s.uris, uri) && last > sub.since && sub.told < last {
				w.broken("%s subscribed to %s (at %d) was last told at %d; it changed at %d", c.name, uri, sub.since, sub.told, last)
			}
		}
	}
}

// offered are the tools of a server by the names that clients know: those that this one sees; nil = all.
func (w *world) offered(i int, c *client) (names []string) {
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

// metaTools reports whether the gateway's own tools are listed: in every other world.
func (w *world) metaTools() bool { return w.p.Seed%2 == 1 }

// onlyMeta reports whether nothing else is.
func (w *world) onlyMeta() bool { return w.p.OnlyMeta && w.metaTools() }

// ownTools are their names.
func (w *world) ownTools() (names []string) {
	for _, raw := range meta.Tools() {
		var tool struct{ Name string }
		if err := json.Unmarshal(raw, &tool); err != nil {
			w.broken("the gateway's own tools: %v", err)
		}
		names = append(names, "goblin_"+tool.Name)
	}
	return names
}

// lists: every client sees what the servers offer, after the rules of the configuration, and the gateway's own tools.
func (w *world) lists() {
	if w.failed() {
		return
	}
	for _, c := range w.clients {
		want := w.listFor(c)
		if c.ready() && c.listed == nil {
			w.broken("%s has no list", c.name)
		} else if c.ready() && c.listed.failed {
			w.broken("%s is refused the list: %s", c.name, c.listed.fault)
		} else if c.ready() && !slices.Equal(c.list, want) {
			w.broken("%s lists %v, the servers have %v", c.name, c.list, want)
		}
	}
}

// listFor is what a client is to be listed.
func (w *world) listFor(c *client) (want []string) {
	if w.metaTools() {
		want = slices.DeleteFunc(w.ownTools(), func(name string) bool { return !c.seesTool(name) })
	}
	for i := range w.servers {
		if !w.onlyMeta() {
			want = append(want, w.offered(i, c)...)
		}
	}
	sort.Strings(want)
	return want
}

// shown: what people are shown says what the peers know.
func (w *world) shown() {
	if w.failed() {
		return
	}
	s := w.status()
	all := 0
	for i, server := range s.Servers {
		want := len(w.offered(i, nil))
		all += want
		if server.Tools != want || server.Resources != len(w.servers[i].uris)+1 || server.ReadyCount != server.Replicas && !w.servers[i].sleeps() {
			w.broken("%s is shown with %d tools, %d resources, %d of %d replicas ready; it has %d tools", server.Name, server.Tools, server.Resources, server.ReadyCount, server.Replicas, want)
		}
	}
	if s.Catalog.Tools != all {
		w.broken("the catalog is shown with %d tools; there are %d", s.Catalog.Tools, all)
	}
	sessions, streams := w.unshown(s.Sessions)
	if sessions > 0 || streams != 0 { // an actor that had no turn in time is missing from a picture, and shown in the next
		w.pass(10 * time.Second)
		sessions, streams = w.unshown(w.status().Sessions)
	}
	wanted := map[string]bool{}
	for _, c := range w.clients {
		for uri, sub := range c.subs {
			if !sub.unsure {
				wanted[uri] = true
			}
		}
	}
	if sessions > 0 || streams != 0 { // sessions that their clients have forgotten may be there until they are idle for too long
		w.broken("%d sessions of clients are not shown, and %d listen streams too few", sessions, streams)
	}
	upstream := 0
	for _, server := range s.Servers {
		upstream += server.Subscribed
	}
	if upstream < len(wanted) {
		w.broken("%d resources are shown as subscribed at their servers; clients wait for news of %d", upstream, len(wanted))
	}
}

// always must hold after each step.
func (w *world) always() {
	if w.fate.steps%64 != 0 {
		return
	}
	w.unread()
	w.overdue()
	w.unkept()
	for _, a := range w.gateway.Mailboxes() {
		if a.Depth > a.Limit {
			w.broken("the mailbox of %s holds %d messages; %d is its bound", a.Name, a.Depth, a.Limit)
		}
	}
}

// longest is how long a request that nobody has to think about may take, however busy servers, gateway and client are: one that
// waits for longer waits for ever, and its session's end must not hide that.
const longest = 5 * time.Minute

func (w *world) overdue() {
	for _, c := range w.clients {
		for _, id := range sortedKeys(c.open) {
			a := c.open[id]
			if !a.given && !a.streams && !strings.HasPrefix(a.method, "tools/call") && time.Since(a.sent) > longest && !w.failed() {
				w.broken("%s has waited for %v", a, time.Since(a.sent))
			}
		}
	}
}

// unshown counts the sessions and listen streams of clients that are not among those shown; less than none: what clients have
// forgotten.
func (w *world) unshown(shown []status.Session) (sessions, streams int) {
	for _, c := range w.clients {
		switch {
		case c.modern && c.listening != nil:
			streams++
		case !c.modern && c.state == "ready":
			sessions++
		}
	}
	for _, session := range shown {
		if session.Protocol >= "2026" {
			streams--
		} else {
			sessions--
		}
	}
	return sessions, streams
}
