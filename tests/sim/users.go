package sim

import (
	"context"
	"slices"
	"strings"
	"time"

	"goblin-actor/actors"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/status"
)

// usageOf returns the counts of a principal. The principal has the same counts as long as the story lasts.
func (w *world) usageOf(name string) *identity.Usage {
	if w.usage[name] == nil {
		w.usage[name] = new(identity.Usage)
	}
	return w.usage[name]
}

// surveyed is a gateway whose status was requested before. Another request would cost its actors turns.
type surveyed struct {
	*actors.Gateway
	shown *status.Snapshot
}

func (g surveyed) Status(context.Context) (*status.Snapshot, error) { return g.shown, nil }

// users returns what /userz of a node shows. The parameter shown is the node's status. All nodes count in the same counts of
// principals, so only one may show them.
func (n *node) users(shown *status.Snapshot, withKeys bool) []status.User {
	keys := func() (all []status.User) {
		for _, name := range sortedKeys(n.w.usage) {
			u := status.User{Name: name}
			u.Count(n.w.usage[name].At(time.Now()))
			all = append(all, u)
		}
		return all
	}
	if !withKeys {
		keys = func() []status.User { return nil }
	}
	local := status.Local{Gateway: surveyed{n.gateway, shown}, Counters: n.gateway.Metrics(), Keys: keys}
	users, err := local.Users(context.Background(), "")
	if err != nil {
		n.violated("/userz: %v", err)
	}
	return users.Users
}

// userBook is what clients know of the requests of a user: how many have certainly ended in a way, and how many may have.
type userBook struct {
	ok, mostOK           int // calls
	failed, mostFailed   int // calls
	refused, mostRefused int // requests that did not become calls
}

// checkUsers compares the counts of all users with the servers' counters, and those of each user with what its clients know. No call may
// be in progress. The parameter all has what each node shows.
func (w *world) checkUsers(all []status.User) {
	book := w.userBooks()
	var calls, failed uint64
	local := status.User{Name: identity.LocalID, Local: true}
	shown := slices.DeleteFunc(all, func(u status.User) bool {
		if u.Local {
			local.Calls, local.Failed, local.Refused = local.Calls+u.Calls, local.Failed+u.Failed, local.Refused+u.Refused
		}
		return u.Local
	})
	for _, u := range append(shown, local) {
		calls, failed = calls+u.Calls, failed+u.Failed
		name := u.Name
		if u.Local {
			name = ""
		}
		b := book[name]
		if b == nil {
			b = &userBook{}
		}
		if ok, failed := int(u.Calls-u.Failed), int(u.Failed); ok < b.ok || ok > b.mostOK || failed < b.failed || failed > b.mostFailed {
			w.violated("/userz has %d successful and %d failed calls of %s, want %d to %d and %d to %d", ok, failed, u.Name, b.ok, b.mostOK, b.failed, b.mostFailed)
		}
		if int(u.Refused) < b.refused || int(u.Refused) > b.mostRefused {
			w.violated("/userz has %d refused requests of %s, want %d to %d", u.Refused, u.Name, b.refused, b.mostRefused)
		}
		if u.Refused > 0 {
			w.count("a user with refused requests")
		}
	}
	var want status.Totals
	for _, n := range w.nodes {
		for _, s := range n.gateway.Metrics().Sample(nil) {
			want.Calls, want.Errors = want.Calls+s.Calls, want.Errors+s.Errors
		}
	}
	if calls != want.Calls || failed != want.Errors {
		w.violated("/userz has %d calls, %d of which failed; /metrics has %d and %d", calls, failed, want.Calls, want.Errors)
	}
}

// userBooks returns what clients know, by the name of the user; "" = clients that are not authenticated.
func (w *world) userBooks() map[string]*userBook {
	books := map[string]*userBook{}
	of := func(who string) *userBook {
		if books[who] == nil {
			books[who] = &userBook{}
		}
		return books[who]
	}
	all := w.history.calls(w, nil, time.Time{})
	for k, n := range all.least {
		if k.outcome == outcomeOK {
			of(k.who).ok += n
		} else {
			of(k.who).failed += n
		}
	}
	for k, n := range all.most {
		if k.outcome == outcomeOK {
			of(k.who).mostOK += n
		} else {
			of(k.who).mostFailed += n
		}
	}
	for k, n := range all.unsure {
		b := of(k.who)
		b.mostOK, b.mostFailed = b.mostOK+n, b.mostFailed+n
	}
	w.addRefused(of)
	return books
}

// addRefused adds the requests that the gateway refused because they were not admitted.
func (w *world) addRefused(of func(who string) *userBook) {
	for _, a := range w.history.requests {
		if a.code == "REQUEST_STATE_INVALID" || a.method == "tools/call again" && a.isOpen() { // a state may also be refused after it was admitted
			of(userOf(a.principal)).mostRefused++
		}
	}
	for principal, n := range w.strange {
		of(userOf(principal)).mostRefused += n
	}
	if w.transport != nil {
		for principal, n := range w.transport.revoked {
			of(userOf(principal)).mostRefused += n
		}
	}
	b := of(intruderName)
	b.mostRefused += w.forgeries
	for _, s := range w.thefts {
		if b.mostRefused++; s.client.usedAfter(s) {
			b.refused++
		}
	}
}

// userOf returns the name of the user with the given id; "" = clients that are not authenticated.
func userOf(principal string) string { return strings.TrimPrefix(principal, "key:") }

// usedAfter reports whether the client has used the session that the intruder used, at the same node, after the intruder's request
// was answered. Then the session still existed there, so it has refused that request.
func (c *client) usedAfter(s theft) bool {
	for _, a := range c.w.history.requests {
		if a.client == c && a.session == s.session && a.servedBy() == s.node && !s.over.IsZero() && a.sent.After(s.over) && a.answers > 0 && !a.failed {
			return true
		}
	}
	return false
}
