package actors

import (
	"fmt"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
)

// childReferences returns references of n actors.
func childReferences(t *testing.T, n int) (refs []kernel.Reference) {
	t.Helper()
	system := kernel.New(kernel.Options{})
	t.Cleanup(func() { _ = system.Stop(t.Context()) })
	for i := range n {
		refs = append(refs, kernel.Spawn(system, kernel.SpawnOptions{Name: fmt.Sprint("child", i)}, func(kernel.Self) kernel.Logic { return idleActor{} }))
	}
	return refs
}

// idleActor ignores all messages.
type idleActor struct{}

func (idleActor) Step(_ time.Time, _ any, out []kernel.Effect) []kernel.Effect { return out }
func (idleActor) Act(kernel.Self, any)                                         {}

// The session that is closed for a new one is an idle session of the owner with the most sessions, but not of an owner with fewer
// sessions than the client. If there is none, it is a session with a stream of another principal that has more than half of all
// sessions.
func TestSessionToEvict(t *testing.T) {
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
		want     int       // index of the closed session; -1 = none
		streams  bool
	}{
		{"the least recently used one", a, []session{{a, idle}, {a, idle}}, 0, false},
		{"one of the owner with the most, although others have been idle for longer", c, []session{{b, idle}, {a, idle}, {a, idle}}, 1, false},
		{"one of the client before those of an owner with fewer", a, []session{{b, idle}, {a, idle}, {a, idle}}, 1, false},
		{"none of an owner with fewer than the client", a, []session{{b, idle}, {a, calls}, {a, calls}}, -1, false},
		{"one of another owner with as many, if those of the client are busy", a, []session{{b, idle}, {a, calls}}, 0, false},
		{"one of the client, if another owner has as many", a, []session{{b, idle}, {a, idle}}, 1, false},
		{"one of the next owner, if those of the owner with the most are busy", b, append(many(3, session{a, calls}), session{c, idle}, session{c, idle}), 3, false},
		{"one with a stream, of a principal with more than half", b, append(many(6, session{a, streams}), many(4, session{c, calls})...), 0, true},
		{"none with calls", b, append(many(6, session{a, calls}), many(4, session{c, streams})...), -1, false},
		{"none of a principal with exactly half", b, append(many(5, session{a, streams}), many(5, session{c, calls})...), -1, false},
		{"none with a stream of the client itself", a, append(many(6, session{a, streams}), many(4, session{c, calls})...), -1, false},
		{"none with a stream of an address, which many clients may share", b, many(10, session{c, streams}), -1, false},
	} {
		refs := childReferences(t, len(test.sessions))
		s := newState(&config.Config{Limits: config.Limits{MaxSessions: 10}}, kernel.Reference{})
		for i, session := range test.sessions {
			s.sessions.begin(session.of, 0)
			s.sessions.started(sessionStarted{refs[i], session.of, 0})
			s.eviction.answers = append(s.eviction.answers, message.IdleSince{Session: refs[i], At: time.Unix(int64(i), 0), Calls: session.state == calls, Streams: session.state == streams})
		}
		leaves, closes := s.eviction.candidates(&s.sessions).pick(test.client, false, 10)
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

// Guests of all owners are closed first. A guest takes no other session's place.
func TestGuestsAreEvictedFirst(t *testing.T) {
	a, b := owner{"a", true}, owner{"b", true}
	refs := childReferences(t, 4)
	s := newState(&config.Config{Limits: config.Limits{MaxSessions: 10}}, kernel.Reference{})
	for i, of := range []owner{a, a, b, a} {
		s.sessions.begin(of, 0)
		s.sessions.started(sessionStarted{refs[i], of, 0})
		s.eviction.answers = append(s.eviction.answers, message.IdleSince{Session: refs[i], At: time.Unix(int64(i), 0), Guest: i >= 2})
	}
	idle := s.eviction.candidates(&s.sessions)
	for i, want := range []struct {
		guest bool
		ref   kernel.Reference
	}{{true, refs[2]}, {false, refs[3]}, {true, kernel.Reference{}}, {false, refs[0]}} {
		if got, _ := idle.pick(b, want.guest, 10); got != want.ref {
			t.Errorf("%d: %v, want %v", i, got, want.ref)
		}
	}
}

// If a session that was requested to close has become busy, another one is requested to close. Otherwise the waiting client
// would wait forever. Found by the simulator with seed 10161222306623.
func TestBusySessionIsNotEvicted(t *testing.T) {
	refs := childReferences(t, 3)
	s := newState(&config.Config{Limits: config.Limits{MaxSessions: 2}}, kernel.Reference{})
	s.registry = refs[2]
	for _, ref := range refs[:2] {
		s.sessions.begin(owner{name: "a"}, 0)
		s.sessions.started(sessionStarted{ref, owner{name: "a"}, 0})
	}
	requests := func(out []kernel.Effect) (closing []kernel.Reference, surveyed int) {
		for _, e := range out {
			switch e.Msg.(type) {
			case message.CloseIfIdle:
				closing = append(closing, e.To)
			case message.QueryIdleSince:
				surveyed++
			}
		}
		return closing, surveyed
	}
	since := func(busy kernel.Reference) (out []kernel.Effect) {
		for i, ref := range refs[:2] {
			out = step(s, time.Unix(9, 0), message.IdleSince{Survey: s.eviction.generation, Session: ref, At: time.Unix(int64(i), 0), Calls: ref == busy}, out)
		}
		return out
	}
	g := requestSession(message.OpenSession{Exchange: initializeExchange(t)})
	if _, surveyed := requests(s.open(g, nil)); surveyed != 2 {
		t.Fatalf("%d sessions were surveyed, want 2", surveyed)
	}
	if closing, _ := requests(since(kernel.Reference{})); len(closing) != 1 || closing[0] != refs[0] {
		t.Fatalf("requested to close: %v, want the first", closing)
	}
	if _, surveyed := requests(step(s, time.Unix(10, 0), message.SessionBusy{Session: refs[0]}, nil)); surveyed != 2 {
		t.Fatalf("after SessionBusy %d sessions were surveyed, want 2", surveyed)
	}
	if closing, _ := requests(since(refs[0])); len(closing) != 1 || closing[0] != refs[1] {
		t.Errorf("requested to close next: %v, want the other", closing)
	}
}

// An answer that arrives after its survey has ended counts in no later survey: the session may have become busy since.
func TestLateAnswerIsIgnored(t *testing.T) {
	refs := childReferences(t, 3)
	s := newState(&config.Config{Limits: config.Limits{MaxSessions: 2}}, kernel.Reference{})
	s.registry = refs[2]
	for _, ref := range refs[:2] {
		s.sessions.begin(owner{name: "a"}, 0)
		s.sessions.started(sessionStarted{ref, owner{name: "a"}, 0})
	}
	var surveys []uint64
	var closing []kernel.Reference
	look := func(out []kernel.Effect) {
		for _, e := range out {
			switch m := e.Msg.(type) {
			case message.QueryIdleSince:
				if e.To == refs[0] {
					surveys = append(surveys, m.Survey)
				}
			case message.CloseIfIdle:
				closing = append(closing, e.To)
			}
		}
	}
	answer := func(survey uint64, session, second int) {
		look(step(s, time.Unix(20, 0), message.IdleSince{Survey: survey, Session: refs[session], At: time.Unix(int64(second), 0)}, nil))
	}
	open := func() { look(s.open(requestSession(message.OpenSession{Exchange: initializeExchange(t)}), nil)) }
	open()
	look(step(s, time.Unix(10, 0), surveyDue{s.eviction.generation}, nil)) // no session has answered, so the client is refused
	open()
	if len(surveys) != 2 || surveys[0] == surveys[1] {
		t.Fatalf("the numbers of the surveys are %v, want two different ones", surveys)
	}
	answer(surveys[0], 0, 1)
	answer(surveys[0], 1, 2)
	if len(closing) != 0 {
		t.Fatalf("late answers end the second survey: %v is requested to close", closing)
	}
	answer(surveys[1], 0, 9)
	answer(surveys[1], 1, 8)
	if len(closing) != 1 || closing[0] != refs[1] {
		t.Errorf("requested to close: %v, want the session that has been idle for longer", closing)
	}
}

// The number of waiting clients is limited. At the limit, a request of the owner with the most waiting requests is refused in favor
// of an owner with fewer.
func TestWaitingClientsAreBounded(t *testing.T) {
	s := newState(&config.Config{Limits: config.Limits{MaxSessions: 0}}, kernel.Reference{})
	s.registry = childReferences(t, 1)[0]
	open := func(who owner) (refused int) {
		g := requestSession(message.OpenSession{Exchange: initializeExchange(t)})
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
		if n := open(mallory); n != 0 {
			t.Fatal("refused below the limit")
		}
	}
	if open(mallory) != 1 || open(alice) != 1 {
		t.Error("at the limit, not exactly one request was refused")
	}
	waits := map[owner]int{}
	for _, g := range s.eviction.waiting {
		waits[g.owner]++
	}
	if waits[alice] != 1 || waits[mallory] != maxWaitingClients-1 {
		t.Errorf("waiting requests by owner: %v", waits)
	}
}

// Sessions are counted from the request to open them until they end or their spawn fails.
func TestOwnersAreForgotten(t *testing.T) {
	s := newState(&config.Config{Limits: config.Limits{MaxSessions: 10}}, kernel.Reference{})
	refs := childReferences(t, 3)
	s.registry = refs[2]
	for _, ref := range []kernel.Reference{refs[0], {}, refs[1]} {
		for _, e := range s.open(requestSession(message.OpenSession{Exchange: initializeExchange(t)}), nil) {
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
		t.Errorf("remaining: %+v", o)
	}
}
