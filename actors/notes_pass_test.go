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

const (
	noteHere  = "aaaaaaa2" // this node
	noteHome  = "bbbbbbb2"
	noteOther = "ccccccc2"
)

func passes(out []kernel.Effect) (list []passNote) {
	for _, e := range out {
		if p, ok := e.Act.(passNote); ok {
			list = append(list, p)
		}
	}
	return list
}

// noteSession returns the id of a session that a node has opened.
func noteSession(t *testing.T, opened string, n int) string {
	t.Helper()
	secrets, err := cluster.NewSecrets([]string{fmt.Sprintf("%032d", 1)})
	if err != nil {
		t.Fatal(err)
	}
	id, err := secrets.SealSession(opened, &cluster.SessionFacts{Path: "/mcp", Holder: fmt.Sprint(n)})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func viewWith(incarnations ...string) *cluster.View {
	var members []cluster.Member
	for _, i := range incarnations {
		members = append(members, cluster.Member{Incarnation: i})
	}
	return cluster.NewView(noteHere, nil, members)
}

// A note whose sender is not the home any more is passed on to the home, again until it is kept. The node then forgets it, unless the
// sender still runs. A note whose sender is the home stays.
func TestNoteIsPassedOn(t *testing.T) {
	cfg := config.Default()
	s := newState(&cfg, kernel.Reference{})
	now := time.Unix(1000, 0)
	id := noteSession(t, noteHome, 1)
	s.stepNotes(now, message.MembersChanged{View: viewWith(noteHere, noteHome, noteOther)}, nil)
	keep := func(from string) []passNote {
		return passes(s.stepNotes(now, message.KeepNote{Note: &cluster.Note{From: from, Session: id, Seq: 1, URIs: []string{"x"}}}, nil))
	}
	if p := keep(noteHome); len(p) != 0 {
		t.Errorf("the note of the home is passed on: %+v", p)
	}
	other := keep(noteOther)
	mine := keep(noteHere)
	if len(other) != 1 || other[0].to != noteHome || len(mine) != 1 || mine[0].to != noteHome {
		t.Fatalf("passed on: %+v, %+v", other, mine)
	}
	if p := passes(s.stepNotes(now, message.MembersChanged{View: viewWith(noteHere, noteHome, noteOther)}, nil)); len(p) != 0 {
		t.Errorf("notes on their way are passed on again: %+v", p)
	}
	s.stepNotes(now, notePassed{other[0], true}, nil)
	if out := s.stepNotes(now, notePassed{mine[0], false}, nil); len(out) != 1 || len(s.sessions.notes.of[id]) != 3 {
		t.Fatalf("not kept: %v, %d notes", out, len(s.sessions.notes.of[id]))
	}
	again := passes(s.stepNotes(now, passDue{}, nil))
	if len(again) != 1 || again[0] != mine[0] {
		t.Fatalf("again: %+v", again)
	}
	s.stepNotes(now, notePassed{again[0], true}, nil)
	if n := s.sessions.notes; len(n.of[id]) != 2 || n.passing.count != 0 || len(n.passing.failed) > 0 {
		t.Errorf("%d notes, %+v", len(n.of[id]), n.passing)
	}
	alone := passes(s.stepNotes(now, message.MembersChanged{View: viewWith(noteHere)}, nil))
	if len(alone) != 0 || taken(s, id) == nil {
		t.Errorf("this node is the home: %+v", alone)
	}
}

// A limited number of notes is on its way.
func TestFewNotesArePassedOn(t *testing.T) {
	cfg := config.Default()
	s := newState(&cfg, kernel.Reference{})
	now := time.Unix(1000, 0)
	s.stepNotes(now, message.MembersChanged{View: viewWith(noteHere, noteHome)}, nil)
	var on []passNote
	for i := range 3 * maxPassing {
		on = append(on, passes(s.stepNotes(now, message.KeepNote{Note: &cluster.Note{From: noteOther, Session: noteSession(t, noteHome, i), Seq: 1}}, nil))...)
	}
	if len(on) != maxPassing {
		t.Fatalf("%d notes are on their way", len(on))
	}
	for done := 0; done < len(on); done++ {
		on = append(on, passes(s.stepNotes(now, notePassed{on[done], true}, nil))...)
	}
	if len(on) != 3*maxPassing || len(s.sessions.notes.of) != 0 || s.sessions.notes.bytes != 0 {
		t.Errorf("%d of %d notes were passed on, %d are left", len(on), 3*maxPassing, len(s.sessions.notes.of))
	}
}
