package message

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/status"
)

// ErrPayloadsGone is the reply to KeepPayloads and DiscardPayloads if the actor that keeps payloads cannot handle them.
var ErrPayloadsGone = errors.New("payloads cannot be kept now; try again")

// KeepPayloads tells the actor that keeps payloads to keep those of a server's next calls.
type KeepPayloads struct {
	Server string
	Reply  chan<- error // capacity 1; nil = it has begun
}

// Abandon answers the operator with ErrPayloadsGone if the message is not handled.
func (k KeepPayloads) Abandon(kernel.Reason) { k.Reply <- ErrPayloadsGone }

// DiscardPayloads discards a server's payloads, and keeps no more.
type DiscardPayloads struct {
	Server string
	Reply  chan<- error // capacity 1
}

// Abandon answers the operator with ErrPayloadsGone if the message is not handled.
func (d DiscardPayloads) Abandon(kernel.Reason) { d.Reply <- ErrPayloadsGone }

// PermitPayloads reports what a reload changes for kept payloads.
type PermitPayloads struct {
	Permitted bool     // false = the configuration forbids keeping payloads; all are discarded
	Rotated   bool     // the configuration no longer has a secret that kept payloads may contain; all are discarded
	Removed   []string // servers that no longer exist; their payloads are discarded
}

// Class returns Outcome, because the message must not be refused.
func (PermitPayloads) Class() kernel.Class { return kernel.Outcome }

// GetPayloads requests the kept payloads, ordered by server.
type GetPayloads struct {
	Reply chan<- []KeptPayloads // capacity 1; nil = the actor could not handle the request
}

// Class is Urgent, as for every other request of the status.
func (GetPayloads) Class() kernel.Class { return kernel.Urgent }

// Observation implements kernel.Observation.
func (GetPayloads) Observation() {}

// Abandon answers nil if the actor cannot handle the request.
func (g GetPayloads) Abandon(kernel.Reason) { g.Reply <- nil }

// KeptPayloads are the payloads of a server's calls. They are as the peers sent them, with their secrets.
type KeptPayloads struct {
	status.Keeping
	Calls []CallPayload // in the order in which they began
}

// CallPayload is a call whose payloads are kept. It is immutable.
type CallPayload struct {
	Call           string // its name in the status
	Method, Item   string
	Began, Ended   time.Time
	Request        RawPayload
	Answer         RawPayload
	AnswerWithheld bool // the answer asks the client to log in, or for input
}

// RawPayload is the beginning of JSON text from a peer, and its full size.
type RawPayload struct {
	Text  []byte // at most status.MaxPayloadBytes
	Bytes int
}

// RawPayloadOf copies the beginning of a text.
func RawPayloadOf(text []byte) RawPayload {
	return RawPayload{bytes.Clone(text[:min(len(text), status.MaxPayloadBytes)]), len(text)}
}

// PayloadBegan is the request of a call. At most Keeping.Most calls of a Keeping begin.
type PayloadBegan struct {
	Keeping *Keeping
	Payload CallPayload
}

// Class returns Outcome: each Keeping limits the number of its calls.
func (PayloadBegan) Class() kernel.Class { return kernel.Outcome }

// PayloadEnded is the end of a call whose request PayloadBegan has reported.
type PayloadEnded struct {
	Keeping  *Keeping
	Call     string
	At       time.Time
	Answer   RawPayload // empty = there is none
	Withheld bool       // see CallPayload.AnswerWithheld
}

// Class returns Outcome: each Keeping limits the number of its calls.
func (PayloadEnded) Class() kernel.Class { return kernel.Outcome }

// Keeping is a server whose payloads are kept. Its fields do not change, except the number of calls.
type Keeping struct {
	Keeper kernel.Reference // receives PayloadBegan and PayloadEnded
	Server string
	Began  time.Time
	Until  time.Time // the Keeper discards everything at this time
	Most   int

	calls atomic.Int64 // number of calls that Open has counted, including those beyond Most
}

// Calls returns the number of calls that are kept.
func (k *Keeping) Calls() int { return int(min(k.calls.Load(), int64(k.Most))) }

// PayloadGate tells the holders of calls which servers' payloads are kept. The actor that keeps payloads owns it. The zero
// value keeps none, as does nil.
type PayloadGate struct{ keepings atomic.Pointer[[]*Keeping] }

// Open returns the Keeping for a call to a server that begins now, and counts the call, or returns nil. If no payloads are kept, it costs
// one atomic load.
func (g *PayloadGate) Open(now time.Time, server string) *Keeping {
	if g == nil {
		return nil
	}
	all := g.keepings.Load()
	if all == nil {
		return nil
	}
	return open(*all, now, server)
}

func open(all []*Keeping, now time.Time, server string) *Keeping {
	for _, k := range all {
		if k.Server == server && now.Before(k.Until) && k.calls.Add(1) <= int64(k.Most) {
			return k
		}
	}
	return nil
}

// Set replaces the servers whose payloads are kept. The caller must not modify the list afterward.
func (g *PayloadGate) Set(all []*Keeping) {
	if len(all) == 0 {
		g.keepings.Store(nil)
		return
	}
	g.keepings.Store(&all)
}

// Keeping returns the servers whose payloads are kept, by name.
func (g *PayloadGate) Keeping() []status.Keeping {
	all := g.keepings.Load()
	if all == nil {
		return nil
	}
	list := make([]status.Keeping, 0, len(*all))
	for _, k := range *all {
		list = append(list, k.Shown())
	}
	slices.SortFunc(list, func(a, b status.Keeping) int { return strings.Compare(a.Server, b.Server) })
	return list
}

// Shown returns the Keeping as it is shown.
func (k *Keeping) Shown() status.Keeping {
	return status.Keeping{Server: k.Server, Began: k.Began, Until: k.Until, Calls: k.Calls(), Most: k.Most}
}
