package actors

import (
	"context"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/session"
	"goblin-actor/internal/cluster"
)

// Limits of the notes that a node keeps.
const (
	maxNotes     = 100_000
	maxNoteBytes = 16 << 20 // of Note.Size
	noteSweep    = time.Minute
)

// notes are what other nodes have told this one about sessions whose next home it is. A note is removed when this node becomes the home,
// when the session ends or gets another heir, and when its home has been gone for limits.sessionIdle.
type notes struct {
	of       map[string]*keptNote // by the id of the session
	bytes    int
	view     *cluster.View // newest known view; nil = none yet
	sweeping bool          // the timer is set
}

type keptNote struct {
	*cluster.Note
	seen time.Time // when its home was last known to be a member
}

// sweepNotes says that it is time to look for notes of homes that are gone.
type sweepNotes struct{}

// answerNote answers KeepNote.
type answerNote struct {
	m    message.KeepNote
	kept bool
}

// noteKept makes the shell tell the session's actor on this node, if there is one, that there is a note.
type noteKept struct{ id string }

// stepNotes handles the messages about notes.
func (s *state) stepNotes(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	n := &s.sessions.notes
	switch m := msg.(type) {
	case message.MembersChanged:
		n.view = m.View
		return s.sessions.tell(m, out)
	case message.KeepNote:
		return n.keep(now, m, out)
	case message.TakeNote:
		if k := n.of[m.ID]; k != nil {
			n.forget(m.ID)
			out = append(out, kernel.Tell(m.Session, message.NoteTaken{Note: k.Note}))
		}
	case sweepNotes:
		return n.sweep(now, s.config.Limits.SessionIdle, out)
	}
	return out
}

// keep keeps a note in place of an earlier one. An older note of the same home has no effect.
func (n *notes) keep(now time.Time, m message.KeepNote, out []kernel.Effect) []kernel.Effect {
	id := m.Note.Session
	old := n.of[id]
	switch {
	case old != nil && old.From == m.Note.From && old.Seq > m.Note.Seq:
		return append(out, kernel.Act(answerNote{m, true}))
	case m.Note.Ended:
		n.forget(id)
		return append(out, kernel.Act(answerNote{m, true}))
	}
	n.forget(id)
	if len(n.of) >= maxNotes || n.bytes+m.Note.Size() > maxNoteBytes {
		return append(out, kernel.Act(answerNote{m, false}))
	}
	if n.of == nil {
		n.of = map[string]*keptNote{}
	}
	n.of[id] = &keptNote{m.Note, now}
	n.bytes += m.Note.Size()
	out = append(out, kernel.Act(answerNote{m, true}), kernel.Act(noteKept{id}))
	if n.sweeping {
		return out
	}
	n.sweeping = true
	return append(out, kernel.WakeAfter(noteSweep, sweepNotes{}))
}

func (n *notes) forget(id string) {
	if k := n.of[id]; k != nil {
		n.bytes -= k.Size()
		delete(n.of, id)
	}
}

// sweep forgets the notes of homes that have been gone for a time.
func (n *notes) sweep(now time.Time, limit time.Duration, out []kernel.Effect) []kernel.Effect {
	for id, k := range n.of {
		if n.view != nil && n.view.Resolve(k.From) != nil {
			k.seen = now
		} else if now.Sub(k.seen) >= limit {
			n.forget(id)
		}
	}
	if n.sweeping = len(n.of) > 0; !n.sweeping {
		return out
	}
	return append(out, kernel.WakeAfter(noteSweep, sweepNotes{}))
}

// heardNote passes a note of another node on to the gateway actor, if the note belongs to the holder of a session that can move.
func (g *Gateway) heardNote(payload []byte, answer func([]byte)) {
	n, err := cluster.ParseNote(payload)
	if err != nil || n.Cluster != g.cluster.Name || g.cluster.Members.Mine(n.From) {
		return
	}
	if _, facts, err := g.cluster.Secrets.OpenSession(n.Session); err != nil || facts.Holder != n.Holder || !facts.Movable() {
		return
	}
	g.self.Tell(message.KeepNote{Note: n, Reply: func(kept bool) { answer((&cluster.NoteAnswer{Kept: kept}).Encode()) }})
}

// sendNote sends a note to another node, and reports whether that node keeps it. It blocks for at most cluster.NoteTime.
func (g *Gateway) sendNote(ctx context.Context, to string, n *cluster.Note) bool {
	ctx, cancel := context.WithTimeout(ctx, cluster.NoteTime)
	defer cancel()
	n.Cluster, n.From = g.cluster.Name, g.cluster.Members.Self()
	payload, err := g.cluster.Bus.Ask(ctx, cluster.SubjectOfNotes(to), n.Encode())
	if err != nil {
		return false
	}
	a, err := cluster.ParseNoteAnswer(payload)
	return err == nil && a.Kept
}

// noteAct executes an effect of stepNotes.
func (g *gateway) noteAct(act any) {
	switch a := act.(type) {
	case answerNote:
		a.m.Answer(a.kept)
	case noteKept:
		if ref, ok := g.system.Lookup("gateway/" + session.ActorName(a.id)); ok {
			ref.Tell(message.NoteKept{})
		}
	}
}
