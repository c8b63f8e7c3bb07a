package status

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// Delta is the difference between two Snapshots, as far as a stream reports them.
type Delta struct {
	Now           time.Time           `json:"now"`
	Head          *Head               `json:"head,omitempty"` // nil = unchanged
	Servers       *Rows[Server]       `json:"servers,omitempty"`
	Backends      *Rows[Backend]      `json:"backends,omitempty"`
	Sessions      *Rows[Session]      `json:"sessions,omitempty"`
	Calls         *Rows[Call]         `json:"calls,omitempty"`
	Subscriptions *Rows[Subscription] `json:"subscriptions,omitempty"`
	Actors        *Rows[Actor]        `json:"actors,omitempty"`
}

// Rows is the difference between two lists. A row has an id, see for example Server.RowID. Rows with equal ids change together.
type Rows[T any] struct {
	Changed []T      `json:"changed,omitempty"` // all rows of each id that has a new or different row
	Gone    []string `json:"gone,omitempty"`    // ids that no longer have a row
}

// Head is a Snapshot without its rows.
type Head struct{ Snapshot }

// MarshalJSON omits the lists of rows.
func (h Head) MarshalJSON() ([]byte, error) {
	type none *struct{}
	return json.Marshal(struct {
		*Snapshot
		Servers       none `json:"servers,omitempty"` // hides the Snapshot's member of that name, likewise below
		Backends      none `json:"backends,omitempty"`
		Sessions      none `json:"sessions,omitempty"`
		Calls         none `json:"calls,omitempty"`
		Subscriptions none `json:"subscriptions,omitempty"`
		Actors        none `json:"actors,omitempty"`
	}{Snapshot: &h.Snapshot})
}

// RowID identifies the server among the rows of a Snapshot.
func (s *Server) RowID() string { return s.Name }

// RowID identifies the connection among the rows of a Snapshot.
func (b *Backend) RowID() string {
	return b.Server + "/" + cmp.Or(b.Name, strconv.Itoa(b.Replica)+"."+strconv.FormatUint(b.Incarnation, 10))
}

// RowID identifies the session among the rows of a Snapshot. Sessions whose full ids have the same first 8 characters have the same RowID.
func (s *Session) RowID() string { return s.ID }

// RowID identifies the call among the rows of a Snapshot.
func (c *Call) RowID() string { return c.ID }

// RowID identifies the subscription among the rows of a Snapshot.
func (s *Subscription) RowID() string { return s.Session + " " + s.Who + " " + s.Server + " " + s.URI }

// RowID identifies the actor among the rows of a Snapshot.
func (a *Actor) RowID() string { return a.Name }

// Orders of the rows of a Snapshot. Rows that compare equal have equal ids.
func orderServers(a, b *Server) int { return cmp.Compare(a.Name, b.Name) }
func orderBackends(a, b *Backend) int {
	return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Replica, b.Replica), cmp.Compare(a.Incarnation, b.Incarnation), cmp.Compare(a.Name, b.Name))
}
func orderSessions(a, b *Session) int {
	return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
}
func orderCalls(a, b *Call) int { return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.ID, b.ID)) }
func orderSubscriptions(a, b *Subscription) int {
	return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.URI, b.URI), cmp.Compare(a.Session, b.Session), cmp.Compare(a.Who, b.Who))
}
func orderActors(a, b *Actor) int { return cmp.Compare(a.Name, b.Name) }

// SortRows sorts the rows of a Snapshot that is being made. Every Snapshot that a Source returns has this order.
func (s *Snapshot) SortRows() {
	sortRows(s.Servers, orderServers)
	sortRows(s.Backends, orderBackends)
	sortRows(s.Sessions, orderSessions)
	sortRows(s.Calls, orderCalls)
	sortRows(s.Subscriptions, orderSubscriptions)
	sortRows(s.Actors, orderActors)
}

func sortRows[T any](rows []T, order func(a, b *T) int) {
	slices.SortStableFunc(rows, func(a, b T) int { return order(&a, &b) })
}

// inOrder returns s, or a copy with sorted rows if redaction has changed their order.
func (s *Snapshot) inOrder() *Snapshot {
	if s == nil || ordered(s.Servers, orderServers) && ordered(s.Backends, orderBackends) && ordered(s.Sessions, orderSessions) && ordered(s.Calls, orderCalls) &&
		ordered(s.Subscriptions, orderSubscriptions) && ordered(s.Actors, orderActors) {
		return s
	}
	c := *s
	c.Servers, c.Backends, c.Sessions = slices.Clone(s.Servers), slices.Clone(s.Backends), slices.Clone(s.Sessions)
	c.Calls, c.Subscriptions, c.Actors = slices.Clone(s.Calls), slices.Clone(s.Subscriptions), slices.Clone(s.Actors)
	c.SortRows()
	return &c
}

func ordered[T any](rows []T, order func(a, b *T) int) bool {
	for i := 1; i < len(rows); i++ {
		if order(&rows[i-1], &rows[i]) > 0 {
			return false
		}
	}
	return true
}

// Apply returns the Snapshot that differs from s by the Delta. It shares unchanged lists with s.
func (d *Delta) Apply(s *Snapshot) *Snapshot {
	next := *s
	if d.Head != nil {
		next = d.Head.Snapshot
	}
	next.Now = d.Now
	next.Servers = applyRows(d.Servers, s.Servers, orderServers, (*Server).RowID)
	next.Backends = applyRows(d.Backends, s.Backends, orderBackends, (*Backend).RowID)
	next.Sessions = applyRows(d.Sessions, s.Sessions, orderSessions, (*Session).RowID)
	next.Calls = applyRows(d.Calls, s.Calls, orderCalls, (*Call).RowID)
	next.Subscriptions = applyRows(d.Subscriptions, s.Subscriptions, orderSubscriptions, (*Subscription).RowID)
	next.Actors = applyRows(d.Actors, s.Actors, orderActors, (*Actor).RowID)
	return &next
}

// applyRows returns the list that differs from old by d. It does not modify old.
func applyRows[T any](d *Rows[T], old []T, order func(a, b *T) int, id func(*T) string) []T {
	if d == nil {
		return old
	}
	replaced := make(map[string]bool, len(d.Gone)+len(d.Changed))
	for _, gone := range d.Gone {
		replaced[gone] = true
	}
	for i := range d.Changed {
		replaced[id(&d.Changed[i])] = true
	}
	rows := make([]T, 0, len(old)+len(d.Changed))
	for i := range old {
		if !replaced[id(&old[i])] {
			rows = append(rows, old[i])
		}
	}
	rows = append(rows, d.Changed...)
	sortRows(rows, order)
	return rows
}

// diff returns how the newer Snapshot differs from older, or nil if only Now differs.
func diff(older, newer *Snapshot) *Delta {
	d := &Delta{Now: newer.Now,
		Servers:       diffRows(older.Servers, newer.Servers, orderServers, (*Server).RowID),
		Backends:      diffRows(older.Backends, newer.Backends, orderBackends, (*Backend).RowID),
		Sessions:      diffRows(older.Sessions, newer.Sessions, orderSessions, (*Session).RowID),
		Calls:         diffRows(older.Calls, newer.Calls, orderCalls, (*Call).RowID),
		Subscriptions: diffRows(older.Subscriptions, newer.Subscriptions, orderSubscriptions, (*Subscription).RowID),
		Actors:        diffRows(older.Actors, newer.Actors, orderActors, (*Actor).RowID),
	}
	if head := headOf(newer); !reflect.DeepEqual(headOf(older), head) {
		head.Now = newer.Now
		d.Head = head
	}
	if *d == (Delta{Now: newer.Now}) {
		return nil
	}
	return d
}

// headOf returns a Snapshot without rows and without Now.
func headOf(s *Snapshot) *Head {
	h := &Head{*s}
	h.Now = time.Time{}
	h.Servers, h.Backends, h.Sessions, h.Calls, h.Subscriptions, h.Actors = nil, nil, nil, nil, nil, nil
	return h
}

// diffRows returns the difference between two sorted lists, or nil if they are equal.
func diffRows[T any](older, newer []T, order func(a, b *T) int, id func(*T) string) *Rows[T] {
	touched := map[string]bool{} // ids with a difference
	all := newer
	for len(older) > 0 && len(newer) > 0 {
		at := order(&older[0], &newer[0])
		if at < 0 {
			touched[id(&older[0])] = true
			older = older[1:]
			continue
		}
		m := groupOf(newer, order)
		n := 0
		if at == 0 {
			n = groupOf(older, order)
		}
		if n != m || !reflect.DeepEqual(older[:n], newer[:m]) {
			touched[id(&newer[0])] = true
		}
		older, newer = older[n:], newer[m:]
	}
	for _, rest := range [][]T{older, newer} {
		for i := range rest {
			touched[id(&rest[i])] = true
		}
	}
	if len(touched) == 0 {
		return nil
	}
	return rowsOf(touched, all, id)
}

// rowsOf returns the Rows for ids with a difference and the newer list.
func rowsOf[T any](touched map[string]bool, newer []T, id func(*T) string) *Rows[T] {
	var d Rows[T]
	left := maps.Clone(touched)
	for i := range newer {
		if name := id(&newer[i]); touched[name] {
			d.Changed = append(d.Changed, newer[i])
			delete(left, name)
		}
	}
	d.Gone = slices.Sorted(maps.Keys(left))
	return &d
}

// groupOf returns how many rows at the start of a list compare equal.
func groupOf[T any](rows []T, order func(a, b *T) int) int {
	n := 1
	for n < len(rows) && order(&rows[0], &rows[n]) == 0 {
		n++
	}
	return n
}
