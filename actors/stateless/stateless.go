package stateless

import (
	"fmt"
	"log/slog"
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/clientcalls"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/seal"
)

// Options say what a desk needs. A desk is the front for modern requests, who have no session: it holds their
// calls, and parks those whose server asks something until the client comes back with the answer.
type Options struct {
	Number   int    // its place among the desks; part of every sealed state
	Count    int    // how many there are: limits for a client are divided by it
	Node     string // of this process; part of every sealed state, and its name to other gateways
	Limits   config.Limits
	Expect   int // servers to wait for, up to StartWait, before requests on stdin and stdout are answered
	Sealer   *seal.Sealer
	Registry kernel.Reference
	Gateway  kernel.Reference
	Metrics  *status.Metrics
	Audit    *audit.Log // nil = there is none
	Log      *slog.Logger
}

// Name is the name of a desk, under the gateway's.
func Name(number int) string { return fmt.Sprintf("desk/%d", number) }

// mailbox is how many messages may wait at a desk: modern clients take turns, and each has an eighth of it.
const mailbox = 8192

// Spawn starts a desk under the gateway. Its calls are lost when it panics; ten panics in a minute stop it.
func Spawn(parent kernel.Self, o Options) kernel.Reference {
	options := kernel.SpawnOptions{Name: Name(o.Number), Kind: "desk", Mailbox: mailbox, Fair: true, Restarts: 10, Within: time.Minute, Log: o.Log}
	return kernel.SpawnChild(parent, options, func(self kernel.Self) kernel.Logic {
		return &stateless{Options: o, state: newState(o, self.Reference()), meters: map[string]*status.ServerMetrics{}}
	})
}

// desk is the shell: it carries out what step wants done.
type stateless struct {
	Options
	state  *state
	meters map[string]*status.ServerMetrics // by server
}

func (d *stateless) Step(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	if in, ok := msg.(message.StatelessRequest); ok {
		d.Metrics.Bytes(status.Clients, status.In, len(in.Exchange.Frame.Raw))
	}
	d.state.calls.SetAudit(d.Audit.Flags())
	return step(d.state, now, msg, out)
}

// Effects of desks only.
type (
	relayError struct { // a server's error, with the HTTP status it has
		x      *downstream.Exchange
		status int
		frame  []byte
	}
)

// Messages of a desk to itself.
type (
	windowOver struct{ seq, gen uint64 } // questions that belong together have come
	graceOver  struct{ seq, gen uint64 } // nobody came back for a call whose clients left
	tidy       struct{}                  // old outcomes may go
)

// ReplySize is that of the frame.
func (r relayError) ReplySize() int { return len(r.frame) }

func (d *stateless) Act(self kernel.Self, act any) {
	switch a := act.(type) {
	case reply.Answer, reply.AnswerPieces, reply.Notify, reply.Accept, relayError, reply.Refuse:
		perform(d.Metrics, a)
	case clientcalls.Audited:
		d.note(self, a)
	case reply.Watch:
		me := self.Reference()
		a.X.OnGone(func() { me.Tell(reply.Departed{Seq: a.Seq, X: a.X}) })
	case admission.Denied:
		a.Count(d.Metrics, d.Log)
	case clientcalls.CallOutcome:
		m := d.meters[a.Server]
		if m == nil {
			m = d.Metrics.Server(a.Server)
			d.meters[a.Server] = m
		}
		a.Count(m, "desk")
	}
}
