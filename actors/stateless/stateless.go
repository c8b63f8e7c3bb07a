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

// Options configure a stateless session. A stateless session serves modern requests, which belong to no session, and
// holds their calls. While a client answers a server request, the call is parked until the client returns with the
// answer.
type Options struct {
	Number   int    // its number; part of every sealed state
	Count    int    // number of stateless sessions; each gets an equal share of the limits of a client over HTTP
	Node     string // name of this process, in sealed states and for other gateways
	Limits   config.Limits
	Expect   int // servers to wait for, up to StartWait, before requests on stdin and stdout are answered
	Sealer   *seal.Sealer
	Registry kernel.Reference
	Gateway  kernel.Reference
	Metrics  *status.Metrics
	Payloads *message.PayloadGate // nil = no payloads are kept
	Audit    *audit.Log           // nil = there is none
	Log      *slog.Logger
}

// Name returns the name of a stateless session's actor under the gateway.
func Name(number int) string { return fmt.Sprintf("desk/%d", number) }

// mailbox is the capacity of the mailbox, in messages. Clients take turns, and each may use an eighth of it.
const mailbox = 8192

// Spawn starts a stateless session under the gateway. A panic loses its calls. It is restarted after up to ten panics
// within a minute, and the next panic stops it.
func Spawn(parent kernel.Self, o Options) kernel.Reference {
	options := kernel.SpawnOptions{Name: Name(o.Number), Kind: "desk", Mailbox: mailbox, Fair: true, Restarts: 10, Within: time.Minute, Log: o.Log}
	return kernel.SpawnChild(parent, options, func(self kernel.Self) kernel.Logic {
		return &stateless{Options: o, state: newState(o, self.Reference()), meters: map[string]*status.ServerMetrics{}}
	})
}

// stateless is the shell: it executes the effects of step.
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

// Effects that only stateless sessions have.
type (
	relayError struct { // a server's error and its HTTP status
		x      *downstream.Exchange
		status int
		frame  []byte
	}
	turnAway struct { // refuses a request that arrives too early or too late, unless another node of the cluster can serve it
		message.PassOn
		reply.Refuse
	}
)

// Messages of a stateless session to itself.
type (
	windowOver struct{ seq, gen uint64 } // questionWindow has passed
	graceOver  struct{ seq, gen uint64 } // returnGrace has passed
	tidy       struct{}                  // an outcome has expired
)

// ReplySize returns the size of the frame in bytes.
func (r relayError) ReplySize() int { return len(r.frame) }

func (d *stateless) Act(self kernel.Self, act any) {
	switch a := act.(type) {
	case reply.Answer, reply.AnswerPieces, reply.Notify, reply.Accept, relayError, reply.Refuse:
		perform(d.Metrics, a)
	case turnAway:
		if !a.Passed(a.Fault) {
			perform(d.Metrics, a.Refuse)
		}
	case clientcalls.Audited:
		d.note(self, a)
	case reply.Watch:
		me := self.Reference()
		a.X.OnGone(func() { me.Tell(reply.Departed{Seq: a.Seq, X: a.X}) })
	case admission.Denied:
		a.Count(d.Metrics, d.Log)
	case clientcalls.CallRefused:
		a.Store(d.Metrics, "desk")
	case *clientcalls.CallOutcome:
		m := d.meters[a.Server]
		if m == nil {
			m = d.Metrics.Server(a.Server)
			d.meters[a.Server] = m
		}
		a.Count(m, "desk", message.HolderOf(self.Name()))
	}
}
