package session

import (
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
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/stream"
)

// Options say which client a session is for.
type Options struct {
	ID        string
	Node      string           // names this gateway to other gateways
	Transport string           // http | sse | stdio
	Opened    message.Admitted // who opens it, and what it sees
	Limits    config.Limits
	Expect    int // servers to wait for, up to StartWait, before initialize is answered; 0 = none
	Registry  kernel.Reference
	Gateway   kernel.Reference
	Metrics   *status.Metrics
	Budget    *stream.Budget // what is kept for a client that is away counts
	Audit     *audit.Log     // nil = there is none
	Log       *slog.Logger
}

// mailbox is how many messages of one client may wait.
const mailbox = 512

// Spawn starts the session under the gateway. A session that panics is not restarted: its client begins a new one.
func Spawn(parent kernel.Self, o Options) kernel.Reference {
	options := kernel.SpawnOptions{Name: ActorName(o.ID), Kind: "session", Mailbox: mailbox, Restarts: -1, Within: time.Minute, Log: o.Log}
	s := &session{Options: o} // the function below is kept as long as the actor: it holds nothing else
	return kernel.SpawnChild(parent, options, func(self kernel.Self) kernel.Logic {
		s.state = newState(s.Options, self.Reference())
		return s
	})
}

// session is the shell: it carries out what step wants done.
type session struct {
	Options
	state  *state
	meters map[string]*status.ServerMetrics // by server; saves a lookup under lock for each call
	replay *downstream.Replay               // what was said on the client's streams; nil = its version cannot resume
	stream *downstream.EventStream          // sse: where everything goes
}

func (s *session) Step(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	if in, ok := msg.(message.Inbound); ok {
		s.Metrics.Bytes(status.Clients, status.In, len(in.Exchange.Frame.Raw)+len(in.Exchange.Batch))
	}
	if m, ok := msg.(message.Inbound); ok && s.state.isTheirs(m.Who) && !s.routeAnswers(m.Exchange) {
		return out
	}
	s.state.calls.SetAudit(s.Audit.Flags())
	return step(s.state, now, msg, out)
}

type (
	refuse struct {
		x      *downstream.Exchange
		status int
		fault  *protocol.Fault // nil = no body
	}
	notFound        struct{ x *downstream.Exchange } // to whoever is not the session's principal there is none
	refuseAdmission struct {                         // it may see nothing
		x       *downstream.Exchange
		refusal *message.Refusal
	}
	openStream struct {
		stream   *downstream.EventStream
		refusal  int    // HTTP status; 0 = accepted
		endpoint string // sse: where the client's messages go
		resume   bool   // go on with the stream its Last-Event-ID names; streamReady says if it is one of ours then
	}
	closeStream struct{ stream *downstream.EventStream }
	endReplay   struct{}
	// push writes to the client's streams, the newest first; when none takes it, the session is told undelivered.
	push struct {
		streams     []*downstream.EventStream
		method      protocol.Method
		message     protocol.Message
		key         string // of what it replaces while it waits; "" = a log line
		undelivered any    // nil = it may be lost
	}
	coalesced struct{ method protocol.Method } // a newer notification took the place of one nobody was there for
)

// Messages of the session to itself.
type (
	idleCheck      struct{}
	openTimeout    struct{}               // sse: the client has had its time to initialize
	streamsExpired struct{ at time.Time } // of the client's streams: its credential may have expired
	streamReady    struct{ stream *downstream.EventStream }
	undelivered    struct{ what any } // no stream took it: a protocol.ItemKind whose change is due again, or a message.ResourceUpdated
)

func (undelivered) Class() kernel.Class { return kernel.Outcome }
func (streamReady) Class() kernel.Class { return kernel.Outcome }

func (s *session) Act(self kernel.Self, act any) {
	switch a := act.(type) {
	case reply.Answer, reply.AnswerPieces, reply.AnswerFault, reply.Notify, reply.Accept:
		reply.Perform(s.Metrics, a)
	case refuse:
		s.refuse(a)
	case notFound:
		message.RefuseNoSession(a.x)
	case refuseAdmission:
		a.refusal.Refuse(a.x, protocol.EraLegacy)
	case admission.Denied:
		a.Count(s.Metrics, s.Log)
	case clientcalls.CallOutcome:
		a.Count(s.meter(a.Server), shortID(s.ID))
	case clientcalls.Audited:
		s.commitAudit(self, a)
	case push:
		s.push(self, a)
	case coalesced:
		s.Metrics.Notification(a.method, status.Coalesced)
	case openStream:
		s.openStream(self, a)
	case closeStream:
		a.stream.Close()
	case endReplay:
		s.endReplay()
	}
}

func (s *session) meter(server string) *status.ServerMetrics {
	m := s.meters[server]
	if m == nil {
		m = s.Metrics.Server(server)
		put(&s.meters, server, m)
	}
	return m
}
