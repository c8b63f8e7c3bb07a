package actors

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/session"
	"goblin-actor/internal/cluster"
)

// Limits of the notes that a node keeps.
const (
	maxNotes     = 100_000
	maxNoteBytes = 16 << 20 // sum of Note.Size
	noteSweep    = time.Minute
)

// notes holds what other nodes have sent about the sessions whose next home this node is. A note is removed when this node becomes the home,
// when the session ends or gets another heir, and when its home has been gone for limits.sessionIdle.
//
// While the nodes have different views of the members, two of them may be the home of one session. Therefore each home has a note of
// its own, and the next home restores all of them.
type notes struct {
	of       map[string][]*keptNote // by the id of the session, one of each home, the newest last; at most maxHomes
	bytes    int
	view     *cluster.View // newest known view; nil = none yet
	sweeping bool          // the timer is set
	warned   time.Time     // when the log last said that there is no room
	passing  passing
}

// maxHomes limits the notes about one session.
const maxHomes = 4

type keptNote struct {
	*cluster.Note
	seen   time.Time // when its home was last known to be a member
	passed string    // incarnation to which it was passed on; "" = none
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
		return n.passAll(s.sessions.tell(m, out))
	case message.KeepNote:
		if s.sessions.ended.has(m.Note.Session) {
			return append(out, kernel.Act(answerNote{m, true}))
		}
		return n.keep(now, m, out)
	case message.TakeNote:
		for _, k := range n.of[m.ID] {
			out = append(out, kernel.Tell(m.Session, message.NoteTaken{Note: k.Note}))
		}
		n.forget(m.ID, func(*keptNote) bool { return true })
	case notePassed:
		return n.passed(m, out)
	case passDue:
		return n.passFailed(out)
	case sweepNotes:
		return n.sweep(now, s.config.Limits.SessionIdle, out)
	}
	return out
}

// keep keeps a note in place of an earlier one of the same home. An older note has no effect, and neither has the same note again.
func (n *notes) keep(now time.Time, m message.KeepNote, out []kernel.Effect) []kernel.Effect {
	id := m.Note.Session
	if slices.ContainsFunc(n.of[id], func(k *keptNote) bool { return k.From == m.Note.From && k.Seq >= m.Note.Seq }) {
		return append(out, kernel.Act(answerNote{m, true}))
	}
	n.forget(id, func(k *keptNote) bool { return k.From == m.Note.From })
	if m.Note.Ended {
		return append(out, kernel.Act(answerNote{m, true}))
	}
	if len(n.of[id]) >= maxHomes {
		oldest := n.of[id][0]
		n.forget(id, func(k *keptNote) bool { return k == oldest })
	}
	if len(n.of) >= maxNotes || n.bytes+m.Note.Size() > maxNoteBytes {
		return n.refuse(now, m, out)
	}
	if n.of == nil {
		n.of = map[string][]*keptNote{}
	}
	n.of[id] = append(n.of[id], &keptNote{Note: m.Note, seen: now})
	n.bytes += m.Note.Size()
	out = n.passOne(id, append(out, kernel.Act(answerNote{m, true}), kernel.Act(noteKept{id})))
	if n.sweeping {
		return out
	}
	n.sweeping = true
	return append(out, kernel.WakeAfter(noteSweep, sweepNotes{}))
}

// refuse refuses a note for which there is no room. It logs this once per noteSweep.
func (n *notes) refuse(now time.Time, m message.KeepNote, out []kernel.Effect) []kernel.Effect {
	if now.Sub(n.warned) >= noteSweep {
		n.warned = now
		out = append(out, kernel.Log(slog.LevelWarn, "this node has no room for more notes about sessions of other nodes; if their nodes end, these sessions lose their subscriptions and log levels", "notes", len(n.of), "bytes", n.bytes))
	}
	return append(out, kernel.Act(answerNote{m, false}))
}

// forget removes those notes about a session for which the function which returns true.
func (n *notes) forget(id string, which func(*keptNote) bool) {
	if n.of[id] == nil {
		return
	}
	rest := slices.DeleteFunc(n.of[id], func(k *keptNote) bool {
		if !which(k) {
			return false
		}
		n.bytes -= k.Size()
		return true
	})
	if n.of[id] = rest; len(rest) == 0 {
		delete(n.of, id)
	}
}

// sweep forgets the notes of homes that have been gone for the duration limit.
func (n *notes) sweep(now time.Time, limit time.Duration, out []kernel.Effect) []kernel.Effect {
	for id := range n.of {
		n.forget(id, func(k *keptNote) bool {
			if n.view != nil && n.view.Resolve(k.From) != nil {
				k.seen = now
			}
			return now.Sub(k.seen) >= limit
		})
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
	n.Cluster = g.cluster.Name
	payload, err := g.cluster.Bus.Ask(ctx, cluster.SubjectOfNotes(to), n.Encode())
	if err != nil {
		return false
	}
	a, err := cluster.ParseNoteAnswer(payload)
	return err == nil && a.Kept
}

// noteAct executes an effect of stepNotes, stepEnded or stepPeerCatalogs.
func (g *gateway) noteAct(self kernel.Self, act any) {
	switch a := act.(type) {
	case answerCatalog:
		a.send()
	case catalogsSeen:
		a.reply()
	case passNote:
		g.passNote(self, a)
	case answerEnded, refuseEnded, endUnopened, tellEnded:
		g.endedAct(self, a)
	case answerNote:
		if !a.kept {
			g.metrics.Cluster().NotesRefused.Add(1)
		}
		a.m.Answer(a.kept)
	case noteKept:
		if ref, ok := g.system.Lookup(session.FullName(a.id)); ok {
			ref.Tell(message.NoteKept{})
		}
	}
}
