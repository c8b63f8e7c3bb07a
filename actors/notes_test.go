package actors

import (
	"fmt"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
)

// keeps makes a gateway keep a note, and reports whether it does.
func keeps(s *state, now time.Time, n cluster.Note) (kept bool) {
	for _, e := range s.stepNotes(now, message.KeepNote{Note: &n, Reply: func(k bool) { kept = k }}, nil) {
		if a, ok := e.Act.(answerNote); ok {
			a.m.Answer(a.kept)
		}
	}
	return kept
}

func taken(s *state, id string) *cluster.Note {
	for _, e := range s.stepNotes(time.Time{}, message.TakeNote{ID: id}, nil) {
		if m, ok := e.Msg.(message.NoteTaken); ok {
			return m.Note
		}
	}
	return nil
}

// A gateway keeps the newest note of each session, until the session's next home takes it, the session ends, or its home has been
// gone for limits.sessionIdle.
func TestNotesAreKept(t *testing.T) {
	cfg := config.Default()
	s := newState(&cfg, kernel.Reference{})
	now := time.Unix(1000, 0)
	note := func(id string, seq uint64) cluster.Note {
		return cluster.Note{From: "aaaaaaa2", Session: id, Seq: seq, URIs: []string{"x"}}
	}
	for _, seq := range []uint64{2, 3, 1} { // 1 arrives late
		if !keeps(s, now, note("s", seq)) {
			t.Fatalf("note %d is refused", seq)
		}
	}
	if n := taken(s, "s"); n == nil || n.Seq != 3 || taken(s, "s") != nil || s.sessions.notes.bytes != 0 {
		t.Errorf("taken: %+v, %d bytes left", n, s.sessions.notes.bytes)
	}
	keeps(s, now, note("s", 4))
	ended := note("s", 5)
	ended.Ended = true
	if keeps(s, now, ended); taken(s, "s") != nil {
		t.Error("the note of an ended session is left")
	}
	keeps(s, now, note("s", 6))
	s.stepNotes(now, message.MembersChanged{View: cluster.NewView("bbbbbbb2", nil, []cluster.Member{{Incarnation: "aaaaaaa2"}})}, nil)
	now = now.Add(2 * cfg.Limits.SessionIdle)
	if s.stepNotes(now, sweepNotes{}, nil); len(s.sessions.notes.of) != 1 {
		t.Error("the note of a living home is forgotten")
	}
	s.stepNotes(now, message.MembersChanged{View: cluster.NewView("bbbbbbb2", nil, nil)}, nil)
	now = now.Add(cfg.Limits.SessionIdle - 1)
	if s.stepNotes(now, sweepNotes{}, nil); len(s.sessions.notes.of) != 1 {
		t.Error("the note is forgotten too early")
	}
	if out := s.stepNotes(now.Add(1), sweepNotes{}, nil); len(s.sessions.notes.of) != 0 || len(out) != 0 || s.sessions.notes.sweeping || s.sessions.notes.bytes != 0 {
		t.Errorf("the note is left: %+v, %v", s.sessions.notes, out)
	}
}

// Each home of a session has a note of its own, and removes no other. The next home gets all of them.
func TestNotesOfTwoHomes(t *testing.T) {
	cfg := config.Default()
	s := newState(&cfg, kernel.Reference{})
	now := time.Unix(1000, 0)
	for i := range maxHomes + 2 {
		keeps(s, now, cluster.Note{From: fmt.Sprintf("aaaaaaa%d", i+2), Session: "s", Seq: 1, URIs: []string{"x"}})
	}
	keeps(s, now, cluster.Note{From: "aaaaaaa7", Session: "s", Seq: 2, Ended: true})
	got := ""
	for _, e := range s.stepNotes(now, message.TakeNote{ID: "s"}, nil) {
		got += e.Msg.(message.NoteTaken).Note.From + " "
	}
	if got != "aaaaaaa4 aaaaaaa5 aaaaaaa6 " || s.sessions.notes.bytes != 0 {
		t.Errorf("the next home gets the notes of %s, %d bytes are left", got, s.sessions.notes.bytes)
	}
}

// A gateway keeps a limited number of notes.
func TestTooManyNotes(t *testing.T) {
	cfg := config.Default()
	s := newState(&cfg, kernel.Reference{})
	uri := string(make([]byte, cluster.MaxNote))
	kept := 0
	for i := range maxNoteBytes/cluster.MaxNote + 10 {
		if keeps(s, time.Unix(1000, 0), cluster.Note{Session: fmt.Sprint(i), URIs: []string{uri}}) {
			kept++
		}
	}
	if kept != len(s.sessions.notes.of) || s.sessions.notes.bytes > maxNoteBytes || kept < maxNoteBytes/cluster.MaxNote-10 {
		t.Errorf("%d notes of %d bytes", kept, s.sessions.notes.bytes)
	}
}

// A note has an effect only if its holder is that of the session, and only from another node.
func TestForeignNotes(t *testing.T) {
	a, b, _ := startCluster(t, echoServers, withAuth)
	a.people.get("owner")
	id := a.openAs("owner", "/mcp")
	_, facts, err := a.gateway.cluster.Secrets.OpenSession(id)
	if err != nil {
		t.Fatal(err)
	}
	b.gateway.cluster.Name = "test"
	for what, c := range map[string]struct {
		note cluster.Note
		want bool
	}{
		"its holder":      {cluster.Note{Cluster: "test", From: "ccccccc2", Session: id, Holder: facts.Holder}, true},
		"another holder":  {cluster.Note{Cluster: "test", From: "ccccccc2", Session: id, Holder: "key:thief"}, false},
		"another cluster": {cluster.Note{Cluster: "other", From: "ccccccc2", Session: id, Holder: facts.Holder}, false},
		"itself":          {cluster.Note{Cluster: "test", From: b.gateway.cluster.Members.Self(), Session: id, Holder: facts.Holder}, false},
		"a forged id":     {cluster.Note{Cluster: "test", From: "ccccccc2", Session: id[:len(id)-4] + "AAAA", Holder: facts.Holder}, false},
	} {
		answered := make(chan bool, 1)
		b.gateway.heardNote(c.note.Encode(), func(answer []byte) {
			a, err := cluster.ParseNoteAnswer(answer)
			answered <- err == nil && a.Kept
		})
		if c.want {
			if !<-answered {
				t.Errorf("%s: refused", what)
			}
			continue
		}
		b.gateway.heardNote([]byte("{"), func([]byte) { t.Error("a malformed note is answered") })
		select {
		case <-answered:
			t.Errorf("%s: answered", what)
		default:
		}
	}
}
