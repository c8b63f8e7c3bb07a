package message

import (
	"encoding/json"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol"
)

// GuestAsks asks a session at its home whether it lives, and which log level it has. A guest at another node asks while it is used, so
// the session counts as used, too. Reply does not block and is called at most once.
type GuestAsks struct {
	Holder string // of the principal that uses the guest
	Reply  func(life cluster.SessionLife, level protocol.Level)
}

// Abandon answers that the session has ended, or that its life is unknown.
func (g GuestAsks) Abandon(why kernel.Reason) {
	switch why {
	case kernel.ReceiverStopped, kernel.NotRunning:
		g.Reply(cluster.SessionEnded, protocol.LevelNone)
	default:
		g.Reply(cluster.SessionUnknown, protocol.LevelNone)
	}
}

// SessionHint is a hint of another node about a session that runs on this one. It has an effect only if the session belongs to
// the holder. If too many messages wait in the session, it is dropped.
type SessionHint struct {
	Kind    cluster.HintKind
	Holder  string          // PrincipalOf the session's principal, as the sender knows it
	Request json.RawMessage // of cluster.HintCancel
	Level   protocol.Level  // of cluster.HintLevel
}
