package actors

import (
	"fmt"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
)

// children are references of their own.
func children(t *testing.T, n int) (refs []kernel.Reference) {
	t.Helper()
	system := kernel.New(kernel.Options{})
	t.Cleanup(func() { _ = system.Stop(t.Context()) })
	for i := range n {
		refs = append(refs, kernel.Spawn(system, kernel.SpawnOptions{Name: fmt.Sprint("child", i)}, func(kernel.Self) kernel.Logic { return ignores{} }))
	}
	return refs
}

type ignores struct{}

func (ignores) Step(_ time.Time, _ any, out []kernel.Effect) []kernel.Effect { return out }
func (ignores) Act(kernel.Self, any)                                         {}

// Who makes room for whom: a session of whoever has most, nobody's who has less than the client, and of a principal with more than half of all one
// that only a stream holds.
func TestWhoMakesRoomForASession(t *testing.T) {
	a, b, c := owner{"a", true}, owner{"b", true}, owner{name: "127.0.0.1"}
	const idle, streams, calls = 0, 1, 2
	type session struct {
		of    owner
		state int
	}
	many := func(n int, s session) (all []session) {
		for range n {
			all = append(all, s)
		}
		return all
	}
	for _, test := range []struct {
		name     string
		client   owner
		sessions []session // the least recently used first
		want     int       // which goes; -1 = none
		streams  bool
	}{
		{"the least recently used of one", a, []session{{a, idle}, {a, idle}}, 0, false},
		{"whoever has most, although others are idle for longer", c, []session{{b, idle}, {a, idle}, {a, idle}}, 1, false},
		{"its own before those of one who has less", a, []session{{b, idle}, {a, idle}, {a, idle}}, 1, false},
		{"nobody's who has less", a, []session{{b, idle}, {a, calls}, {a, calls}}, -1, false},
		{"of equals another's when its own are busy", a, []session{{b, idle}, {a, calls}}, 0, false},
		{"of equals its own when it is idle", a, []session{{b, idle}, {a, idle}}, 1, false},
		{"who has most is busy: the next", b, append(many(3, session{a, calls}), session{c, idle}, session{c, idle}), 3, false},
		{"a hog's stream", b, append(many(6, session{a, streams}), many(4, session{c, calls})...), 0, true},
		{"not its call", b, append(many(6, session{a, calls}), many(4, session{c, streams})...), -1, false},
		{"half is not too much", b, append(many(5, session{a, streams}), many(5, session{c, calls})...), -1, false},
		{"not the hog's own stream", a, append(many(6, session{a, streams}), many(4, session{c, calls})...), -1, false},
		{"an address may be of many", b, many(10, session{c, streams}), -1, false},
	} {
		refs := children(t, len(test.sessions))
		s := newState(&config.Config{Limits: config.Limits{MaxSessions: 10}}, kernel.Reference{})
		for i, session := range test.sessions {
			s.sessions.begin(session.of, 0)
			s.sessions.started(sessionStarted{refs[i], session.of, 0})
			s.eviction.answers = append(s.eviction.answers, message.IdleSince{Session: refs[i], At: time.Unix(int64(i), 0), Calls: session.state == calls, Streams: session.state == streams})
		}
		leaves, closes := s.eviction.candidates(&s.sessions).pick(test.client, 10)
		got := -1
		for i := range refs {
			if refs[i] == leaves {
				got = i
			}
		}
		if got != test.want || closes != test.streams {
			t.Errorf("%s: %d %v, want %d %v", test.name, got, closes, test.want, test.streams)
		}
	}
}

// A session that was asked to leave and has got something to do says so, and another one is asked: the client it was to make room for would wait for
// ever. Simulated story 10161222306623.
func TestASessionThatStaysMakesNoRoom(t *testing.T) {
	refs := children(t, 3)
	s := newState(&config.Config{Limits: config.Limits{MaxSessions: 2}}, kernel.Reference{})
	s.registry = refs[2]
	for _, ref := range refs[:2] {
		s.sessions.begin(owner{name: "a"}, 0)
		s.sessions.started(sessionStarted{ref, owner{name: "a"}, 0})
	}
	asks := func(out []kernel.Effect) (asked []kernel.Reference, surveyed int) {
		for _, e := range out {
			switch e.Msg.(type) {
			case message.CloseIfIdle:
				asked = append(asked, e.To)
			case message.QueryIdleSince:
				surveyed++
			}
		}
		return asked, surveyed
	}
	since := func(busy kernel.Reference) (out []kernel.Effect) {
		for i, ref := range refs[:2] {
			out = step(s, time.Unix(9, 0), message.IdleSince{Session: ref, At: time.Unix(int64(i), 0), Calls: ref == busy}, out)
		}
		return out
	}
	g := requestSession(message.OpenSession{Exchange: visitor(t)})
	if _, surveyed := asks(s.open(g, nil)); surveyed != 2 {
		t.Fatalf("%d sessions were looked at, want 2", surveyed)
	}
	if asked, _ := asks(since(kernel.Reference{})); len(asked) != 1 || asked[0] != refs[0] {
		t.Fatalf("asked to leave: %v, want the first", asked)
	}
	if _, surveyed := asks(step(s, time.Unix(10, 0), message.SessionBusy{Session: refs[0]}, nil)); surveyed != 2 {
		t.Fatalf("when it stays %d sessions are looked at, want 2", surveyed)
	}
	if asked, _ := asks(since(refs[0])); len(asked) != 1 || asked[0] != refs[1] {
		t.Errorf("asked then: %v, want the other", asked)
	}
}

// Those who wait for room are many at most, and whoever sends most of them gives way to one who has sent few.
func TestNobodyFillsTheWaitingRoom(t *testing.T) {
	s := newState(&config.Config{Limits: config.Limits{MaxSessions: 0}}, kernel.Reference{})
	s.registry = children(t, 1)[0]
	comes := func(who owner) (refused int) {
		g := requestSession(message.OpenSession{Exchange: visitor(t)})
		g.owner = who
		for _, e := range s.open(g, nil) {
			if _, ok := e.Act.(refuseSession); ok {
				refused++
			}
		}
		return refused
	}
	mallory, alice := owner{"mallory", true}, owner{"alice", true}
	for range maxWaitingClients {
		if n := comes(mallory); n != 0 {
			t.Fatal("refused with room left")
		}
	}
	if comes(mallory) != 1 || comes(alice) != 1 {
		t.Error("nobody, or more than one, was refused in a full room")
	}
	waits := map[owner]int{}
	for _, g := range s.eviction.waiting {
		waits[g.owner]++
	}
	if waits[alice] != 1 || waits[mallory] != maxWaitingClients-1 {
		t.Errorf("they wait: %v", waits)
	}
}

// Sessions are counted from when they are opened until they are gone, also those that never came to be.
func TestOwnersAreForgotten(t *testing.T) {
	s := newState(&config.Config{Limits: config.Limits{MaxSessions: 10}}, kernel.Reference{})
	refs := children(t, 3)
	s.registry = refs[2]
	for _, ref := range []kernel.Reference{refs[0], {}, refs[1]} {
		for _, e := range s.open(requestSession(message.OpenSession{Exchange: visitor(t)}), nil) {
			if start, ok := e.Act.(startSession); ok {
				s.sessions.started(sessionStarted{ref, start.owner, 0})
			}
		}
	}
	if o := s.sessions.owners; len(o.of) != 2 || len(o.sessions) != 1 {
		t.Errorf("two sessions of one client: %+v", o)
	}
	for _, ref := range refs[:2] {
		s.childStopped(kernel.ChildStopped{Child: ref}, nil)
	}
	if o := s.sessions.owners; len(o.of)+len(o.sessions) != 0 {
		t.Errorf("left over: %+v", o)
	}
}
