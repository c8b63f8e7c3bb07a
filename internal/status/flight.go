package status

import (
	"context"
	"time"
)

// Limits of recordings of actors' messages.
const (
	MaxRecorded   = 64               // actors that are recorded at the same time
	RecordTime    = time.Minute      // duration of a recording if the operator gives none
	MaxRecordTime = 10 * time.Minute // longest duration
)

// Recording holds the last messages that an actor handled while it was recorded, without their contents.
type Recording struct {
	Actor    string            `json:"actor"` // Actor.Name
	Began    time.Time         `json:"began"`
	Until    time.Time         `json:"until"` // when it ends, or has ended
	Ended    bool              `json:"ended,omitempty"`
	Handled  uint64            `json:"handled"`  // messages recorded so far, including those that are no longer kept
	Messages []RecordedMessage `json:"messages"` // oldest first
}

// RecordedMessage describes a message that an actor handled.
type RecordedMessage struct {
	Number uint64    `json:"number"` // increasing, in the order in which the recorded actors handled messages
	At     time.Time `json:"at"`
	Type   string    `json:"type"`            // such as message.Dispatch
	Class  string    `json:"class"`           // work, outcome, state, step, log or urgent
	Call   string    `json:"call,omitempty"`  // Call.ID of the call that the message is about; empty = none, or several
	Bytes  int       `json:"bytes,omitempty"` // of the frame in the message
	Depth  int       `json:"depth"`           // messages in the mailbox when it was handled, including itself
	Phase  string    `json:"phase,omitempty"` // of the actor, after the message
}

// RecordQuery selects recorded messages. The zero value selects all.
type RecordQuery struct {
	Actor string // Actor.Name; "" = of all actors
	Call  string // Call.ID; "" = about any call or none
	After uint64 // RecordedMessage.Number of the newest message that is known; 0 = none
}

// Records returns the recordings that are running or kept. With a query for a call, a recording may have no messages.
func (l Local) Records(ctx context.Context, q RecordQuery) ([]Recording, error) {
	list, err := l.Gateway.Records(ctx, q)
	return without(list, l.Known), err
}
