package actors

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol/downstream"
)

// sessionIDs returns ids of sessions of a cluster.
func sessionIDs(t *testing.T, n int) (ids []string) {
	t.Helper()
	secrets, err := cluster.NewSecrets([]string{cluster.NewSecret()})
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		id, err := secrets.SealSession("abcdefg2", &cluster.SessionFacts{Version: "2025-11-25", Path: "/mcp"})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// A node remembers at most maxEnded sessions, each for endedTime, and passes on those that their clients have ended.
func TestEndedSessions(t *testing.T) {
	var v endedSessions
	now := time.Unix(1e9, 0)
	keyOf := func(i int) (key cluster.EndedKey) { copy(key[:], fmt.Sprintf("%016d", i)); return key }
	for i := range maxEnded + 10 {
		if !v.add(endedSession{keyOf(i), now, i%2 == 0}) || v.add(endedSession{keyOf(i), now, false}) {
			t.Fatalf("session %d", i)
		}
	}
	if len(v.list) != maxEnded || len(v.numbers) != maxEnded || v.list[0].key != keyOf(10) {
		t.Errorf("%d sessions, %d numbers, the first is %s", len(v.list), len(v.numbers), v.list[0].key)
	}
	var other endedSessions
	pages := 0
	for after := ""; ; pages++ {
		list, next := v.page(now.Add(time.Hour), after)
		if len(other.addAll(now.Add(time.Hour), list)) != len(list) || len(list) > cluster.MaxEnded {
			t.Fatal("a page is repeated or too large")
		}
		if after = next; next == "" {
			break
		}
	}
	if len(other.list) != maxEnded/2 || !other.list[0].since.Equal(now) || pages != maxEnded/2/cluster.MaxEnded-1 {
		t.Errorf("%d of %d sessions, the first since %v, in %d further pages", len(other.list), maxEnded/2, other.list[0].since, pages)
	}
	if v.add(endedSession{keyOf(10), now, true}) || !v.add(endedSession{keyOf(11), now, true}) {
		t.Error("it is news only that a client has ended a session that was idle")
	}
	s := &state{sessions: sessions{ended: v}}
	s.stepEnded(now.Add(endedTime-time.Second), sweepEnded{}, nil)
	if len(s.sessions.ended.list) != maxEnded {
		t.Error("forgotten too early")
	}
	if out := s.stepEnded(now.Add(endedTime), sweepEnded{}, nil); len(s.sessions.ended.list)+len(s.sessions.ended.numbers)+len(out) > 0 {
		t.Errorf("not forgotten: %d; %v", len(s.sessions.ended.list), out)
	}
	if news := s.sessions.ended.addAll(now, []cluster.EndedSession{{Key: strings.Repeat("A", 16), Age: cluster.EndedTime}}); len(news) > 0 {
		t.Error("a session of yesterday is remembered")
	}
}

// The note about a session that has ended is forgotten, and no later one is kept. The session is not opened again.
func TestEndedSessionHasNoNote(t *testing.T) {
	s, now := &state{}, time.Unix(1e9, 0)
	id := sessionIDs(t, 1)[0]
	note := message.KeepNote{Note: &cluster.Note{From: "abcdefg2", Seq: 1, Session: id}}
	s.stepNotes(now, note, nil)
	if out := s.stepEnded(now, message.RememberEnded{ID: id, Deleted: true}, nil); len(s.sessions.notes.of) > 0 || len(out) != 2 {
		t.Errorf("%d notes; %v", len(s.sessions.notes.of), out)
	}
	if s.stepNotes(now, note, nil); len(s.sessions.notes.of) > 0 {
		t.Error("the note of an ended session is kept")
	}
	if out := s.stepEnded(now, message.RememberEnded{ID: id, Deleted: true}, nil); len(out) > 0 {
		t.Errorf("the second time: %v", out)
	}
	out := s.stepSessions(message.OpenSession{Facts: &cluster.SessionFacts{}, Exchange: exchangeOf(id)}, nil)
	if _, refused := out[0].Act.(refuseEnded); !refused || len(out) != 1 {
		t.Errorf("%v", out)
	}
	s.stepEnded(now, message.AskEnded{ID: id, Reply: func(bool) {}}, nil)
	if out := s.stepEnded(now, message.EndUnopened{Exchange: exchangeOf(id)}, nil); len(out) != 1 {
		t.Errorf("its second end: %v", out)
	}
	if out := s.stepEnded(now, message.EndUnopened{Exchange: exchangeOf(sessionIDs(t, 1)[0])}, nil); kindsOf(out) != "endUnopened" {
		t.Errorf("the end of another one: %s", kindsOf(out))
	}
}

func exchangeOf(session string) *downstream.Exchange {
	return &downstream.Exchange{Origin: downstream.Origin{Path: "/mcp", SessionID: session}}
}

// kindsOf names the effects that are acts.
func kindsOf(out []kernel.Effect) string {
	var names []string
	for _, e := range out {
		if name := fmt.Sprintf("%T", e.Act); strings.HasPrefix(name, "actors.") {
			names = append(names, strings.TrimPrefix(name, "actors."))
		}
	}
	return strings.Join(names, " ")
}

// A session that its client has ended is 404 at all nodes, also after its home is gone, and at nodes that join later. It does not matter
// whether it has ended at the node that opened it or at the next home, with or without an actor there.
func TestEndedSessionStaysEnded(t *testing.T) {
	a, b, relay, net := startJoined(t, nil, echoServers(), echoServers())
	secrets := a.gateway.cluster.Secrets
	var ended [][]string
	end := func(w *httpHarness, id string) {
		t.Helper()
		session := []string{"Mcp-Session-Id", id}
		if got := w.do("DELETE", "/mcp", "", session...); got.status != 202 && got.status != 204 {
			t.Fatalf("DELETE: %+v", got)
		}
		ended = append(ended, session)
	}
	end(a, a.open("/mcp"))
	end(b, a.open("/mcp")) // relayed
	left, guest := a.open("/mcp"), a.open("/mcp")
	if got := b.do("POST", "/mcp", pingFrame, "Mcp-Session-Id", guest); got.status != 200 {
		t.Fatalf("%+v", got)
	}
	agree("b", a, b)
	end(b, left)
	end(b, guest)
	check := func(nodes ...*httpHarness) {
		t.Helper()
		for _, w := range nodes {
			for i, session := range ended {
				w.eventually("the session has ended", func() bool { return w.do("POST", "/mcp", pingFrame, session...).status == 404 })
				if got := w.do("POST", "/mcp", listTasksFrame, session...); got.status != 404 || !strings.Contains(got.body, "Session not found") {
					t.Errorf("%s, session %d: %+v", w.gateway.cluster.Node, i, got)
				}
				if got := w.do("DELETE", "/mcp", "", session...); got.status != 404 {
					t.Errorf("%s, session %d: its second end: %+v", w.gateway.cluster.Node, i, got)
				}
				if got := w.do("GET", "/mcp", "", append(session, "Accept", "text/event-stream")...); got.status != 404 {
					t.Errorf("%s, session %d: its stream: %+v", w.gateway.cluster.Node, i, got)
				}
			}
		}
	}
	check(b)
	if err := a.gateway.Stop(t.Context(), 0); err != nil {
		t.Error(err)
	}
	b.eventually("b is alone", func() bool { return len(b.gateway.cluster.Members.View().Members) == 1 })
	c := startNode(t, &Cluster{Name: "prod", Node: "c", Address: "c:1", Secrets: secrets, Members: cluster.NewMembers(cluster.NewIncarnation()), Relay: relay, Bus: net.Bus("c")}, echoServers(), nil)
	relay.mu.Lock()
	relay.nodes[c.gateway.cluster.Members.Self()] = c.gateway
	relay.mu.Unlock()
	c.eventually("c is ready", func() bool { return c.gateway.cluster.Members.View().Ready() })
	check(b, c)
	agree("c", b, c) // b is gone
	check(c)
}

// A request to end a session without an actor goes to the actor if another request has just started one. It does not end the session
// before that.
func TestEndOfASessionThatHasJustStarted(t *testing.T) {
	a, _, _, _ := startJoined(t, nil, echoServers(), echoServers())
	id, again := a.open("/mcp"), make(chan struct{})
	a.gateway.self.Tell(message.EndUnopened{Exchange: exchangeOf(id), Again: func() { close(again) }})
	<-again
	if got := a.do("POST", "/mcp", pingFrame, "Mcp-Session-Id", id); got.status != 200 {
		t.Errorf("the session: %+v", got)
	}
	if got := a.do("DELETE", "/mcp", "", "Mcp-Session-Id", id); got.status != 204 {
		t.Errorf("its end: %+v", got)
	}
}

// A node without room for notes refuses further ones, and says so once a minute.
func TestNoRoomForNotes(t *testing.T) {
	s, now := &state{}, time.Unix(1e9, 0)
	s.sessions.notes.bytes = maxNoteBytes
	warnings, refused := 0, 0
	for range 130 {
		now = now.Add(time.Second)
		note := message.KeepNote{Note: &cluster.Note{From: "abcdefg2", Seq: 1, Session: sessionIDs(t, 1)[0]}}
		for _, e := range s.stepNotes(now, note, nil) {
			switch a := e.Act.(type) {
			case kernel.Logged:
				warnings++
			case answerNote:
				if !a.kept {
					refused++
				}
			}
		}
	}
	if warnings != 3 || refused != 130 {
		t.Errorf("%d warnings, %d of 130 refused", warnings, refused)
	}
}
