package message

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/cluster"
)

// KeepNote tells the gateway to keep the note of another node about a session, whose next home this node is, or to forget the
// session's note. Reply does not block and is called once; nil = no node waits for an answer.
type KeepNote struct {
	Note  *cluster.Note
	Reply func(kept bool)
}

// Abandon answers that the note is not kept.
func (m KeepNote) Abandon(kernel.Reason) { m.Answer(false) }

// Answer calls Reply.
func (m KeepNote) Answer(kept bool) {
	if m.Reply != nil {
		m.Reply(kept)
	}
}

// NoteKept tells a session that the gateway keeps a note about it.
type NoteKept struct{}

// Class is Outcome: the session's home takes the note at once.
func (NoteKept) Class() kernel.Class { return kernel.Outcome }

// TakeNote requests the note about a session, whose home this node is now. If there is one, the gateway forgets it and answers with
// NoteTaken.
type TakeNote struct {
	Session kernel.Reference
	ID      string
}

// Class is Outcome: each new home sends one.
func (TakeNote) Class() kernel.Class { return kernel.Outcome }

// NoteTaken answers TakeNote.
type NoteTaken struct{ Note *cluster.Note }

// Class is Outcome: it answers a request.
func (NoteTaken) Class() kernel.Class { return kernel.Outcome }
