package registry

import (
	"bytes"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// state is the registry's entire state. Only step modifies it.
type state struct {
	naming   catalog.Naming
	projects []config.Project
	servers  map[string]*serverState
	snapshot *catalog.Snapshot

	expect      int                // servers that must be known before anything is published; 0 = no longer waiting
	subscribers []kernel.Reference // in order of subscription: stateless sessions are spawned first, so they are notified first
	notified    int                // number of subscribers to which the snapshot was sent

	unbuilt    []message.Confirm // requests about changes that may not be in the snapshot
	unnotified []message.Confirm // requests about changes in the snapshot, which has not been sent to all subscribers

	dirty bool // there are changes that are not in the snapshot
	pace  pace

	nodes       kernel.Reference // the membership actor; zero = the gateway runs alone
	generations generations

	changeLog changeLog
}

// serverState holds what is known about one server. Lists that arrive before the server's rules are kept here.
type serverState struct {
	server    *catalog.Server // nil if its rules are unknown
	items     [protocol.ItemKinds][][]byte
	announced [protocol.ItemKinds]bool
	silent    [protocol.ItemKinds]bool
	hurried   int // number of changes published early
}

// Messages of the registry to itself.
type (
	notifyMore struct{ version uint64 } // notifies the next slice of subscribers

	firstOver struct{} // firstWait has passed
)

func (notifyMore) Class() kernel.Class { return kernel.Outcome }

// Effects.
type (
	publish struct {
		to       []kernel.Reference // part of state.subscribers: valid until the next step
		snapshot *catalog.Snapshot
		early    bool
	}
)

func newState(o Options) *state {
	empty := catalog.Build(nil, nil, o.Naming, o.Projects...)
	return &state{nodes: o.Nodes, naming: o.Naming, projects: o.Projects, expect: o.Expect, servers: map[string]*serverState{}, snapshot: empty, changeLog: changeLog{of: empty}}
}

// step applies msg to s at the time now and appends the resulting effects to out.
func (s *state) step(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case kernel.Started: // a restart loses the timers
		s.pace.restarted()
		s.changeLog.waiting = false
		s.notified = 0
		if s.expect > 0 {
			return append(out, kernel.WakeAfter(firstWait, firstOver{}))
		}
		out = s.notifyNext(out)
	case firstOver:
		s.expect, s.dirty = 0, s.dirty || s.expect > 0
	case message.SetServerRules:
		if of := s.of(m.Server.Name); of.server == nil || !reflect.DeepEqual(*of.server, m.Server) {
			of.server = &m.Server
			s.changedFor(of)
		}
	case message.ServerCatalog:
		s.list(m)
	case message.RemoveServer:
		s.dirty = s.dirty || s.servers[m.Server] != nil
		delete(s.servers, m.Server)
	case message.CatalogNaming:
		if m.Naming != s.naming || !reflect.DeepEqual(m.Projects, s.projects) {
			s.dirty = true
			s.pace.hasten()
		}
		s.naming, s.projects = m.Naming, m.Projects
	case message.PeerCatalogsChanged:
		s.peersChanged(m)
	case message.Confirm:
		s.unbuilt = append(s.unbuilt, m)
	case message.Subscribe:
		out = s.subscribe(m.From, out)
	case message.Unsubscribe:
		s.unsubscribe(m.From)
	case alarmFired:
		s.pace.fired(m)
	case logDue:
		if m.generation == s.changeLog.generation {
			out = s.logChanges(now, out)
		}
	case notifyMore:
		if m.version == s.snapshot.Version {
			out = s.notifyNext(out)
		}
	}
	return s.scheduleLog(now, s.confirmReceived(s.settle(now, out)))
}

// confirmReceived confirms the changes that have been sent to every subscriber.
func (s *state) confirmReceived(out []kernel.Effect) []kernel.Effect {
	if !s.dirty {
		s.unnotified, s.unbuilt = append(s.unnotified, s.unbuilt...), nil
	}
	if len(s.unnotified) == 0 || s.notified < len(s.subscribers) {
		return out
	}
	for _, c := range s.unnotified {
		out = append(out, kernel.Tell(c.From, message.ConfirmResult{Key: c.Key}))
	}
	s.unnotified = nil
	return out
}

func (s *state) of(server string) *serverState {
	known := s.servers[server]
	if known == nil {
		known = &serverState{}
		s.servers[server] = known
	}
	return known
}

// list replaces one list of one server. An equal list counts as a change only if the server announced it.
func (s *state) list(m message.ServerCatalog) {
	of := s.of(m.Server)
	changed := m.Announced || of.silent[m.Kind] != m.Silent
	of.announced[m.Kind], of.silent[m.Kind] = of.announced[m.Kind] || m.Announced, m.Silent
	if !slices.EqualFunc(of.items[m.Kind], m.Items, bytes.Equal) {
		of.items[m.Kind] = m.Items
		changed = true
	}
	if changed && of.server != nil {
		s.changedFor(of)
	}
}

func (s *state) subscribe(who kernel.Reference, out []kernel.Effect) []kernel.Effect {
	if who.IsZero() || slices.Contains(s.subscribers, who) {
		return out
	}
	s.subscribers = append(s.subscribers, who)
	if s.expect > 0 {
		return out
	}
	if s.notified == len(s.subscribers)-1 {
		s.notified++
	}
	return append(out, kernel.Act(publish{s.subscribers[len(s.subscribers)-1:], s.snapshot, s.pace.behind}))
}

func (s *state) unsubscribe(who kernel.Reference) {
	i := slices.Index(s.subscribers, who)
	if i < 0 {
		return
	}
	s.subscribers = slices.Delete(s.subscribers, i, i+1)
	if i < s.notified {
		s.notified--
	}
}

// expected reports whether expected servers are still unknown.
func (s *state) expected() bool {
	if s.expect == 0 {
		return false
	}
	known := 0
	for _, of := range s.servers {
		if of.server != nil && !of.server.Internal {
			known++
		}
	}
	if known >= s.expect {
		s.expect = 0
	}
	return s.expect > 0
}

// settle builds and publishes the changes, now or when the pace permits.
func (s *state) settle(now time.Time, out []kernel.Effect) []kernel.Effect {
	if !s.dirty && !s.pace.behind || s.expected() {
		return out
	}
	at, early := s.pace.next(now, s.dirty)
	if at.After(now) {
		return s.pace.wait(now, at, early, out)
	}
	old := s.snapshot
	if s.dirty {
		out = s.build(out)
		s.dirty = false
		for _, warning := range without(s.snapshot.Warnings(), old.Warnings()) {
			out = append(out, kernel.Log(slog.LevelWarn, "catalog", "warning", warning))
		}
	}
	s.pace.published(now, early, s.noticed(old), s.items())
	s.notified = 0
	out = s.changed(now, old, s.notifyNext(out)) // the changes are recorded in the step that starts to notify clients
	return s.settle(now, out)                    // schedules the notification of clients about an early snapshot
}

// noticed reports whether the next snapshot must wait for the pause after the new one. It must if clients see the changes
// of the new one, or would see them without `metaTools: only`. The first snapshots contain only the gateway's own tools.
// They do not start the pause, because it would delay the servers' tools.
func (s *state) noticed(old *catalog.Snapshot) bool {
	if len(s.snapshot.Servers())+len(old.Servers()) == 0 {
		return false
	}
	return s.naming.OnlyMeta || s.snapshot.Generation != old.Generation || !s.snapshot.SameProjects(old)
}

// sources returns the input of catalog.Build and clears the marks of announced changes.
func (s *state) sources() []catalog.Source {
	sources := make([]catalog.Source, 0, len(s.servers))
	for _, name := range slices.Sorted(maps.Keys(s.servers)) {
		of := s.servers[name]
		if of.server == nil {
			continue
		}
		sources = append(sources, catalog.Source{Server: of.server, Items: of.items, Silent: of.silent, Announced: of.announced})
		of.announced = [protocol.ItemKinds]bool{}
	}
	return sources
}

// notifyNext sends the snapshot to the next slice of subscribers.
func (s *state) notifyNext(out []kernel.Effect) []kernel.Effect {
	next := s.subscribers[s.notified:min(s.notified+slice, len(s.subscribers))]
	if len(next) == 0 {
		return out
	}
	s.notified += len(next)
	out = append(out, kernel.Act(publish{next, s.snapshot, s.pace.behind}))
	if s.notified < len(s.subscribers) {
		out = append(out, kernel.Act(notifyMore{s.snapshot.Version}))
	}
	return out
}

// items returns the number of items of all servers.
func (s *state) items() (n int) {
	for _, of := range s.servers {
		for _, items := range of.items {
			n += len(items)
		}
	}
	return n
}

func without(all, known []string) (fresh []string) {
	for _, w := range all {
		if !slices.Contains(known, w) {
			fresh = append(fresh, w)
		}
	}
	return fresh
}
