package session

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/clientcalls"
	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/stream"
)

// Options configure a session and describe its client.
type Options struct {
	ID        string
	Node      string                // names this gateway to other gateways
	Cluster   string                // incarnation of this node; "" = the gateway is not a node of a cluster
	Facts     *cluster.SessionFacts // another node has opened the session; nil = this one
	Members   *cluster.Members      // decide which node is the session's home; nil = always this one, or with Facts always another one
	Elsewhere message.Elsewhere     // gets what is not for this node; nil if Members is nil
	Used      *atomic.Uint64        // guests: the highest number of a call or question of the guests that have ended on this node
	Nodes     kernel.Reference      // sends hints to the other nodes of the cluster; zero = there are none
	Home      AskHome               // asks the session's home on behalf of a guest; nil = it cannot be asked
	Transport string                // http | sse | stdio

	// SendNote sends a note to another node, and reports whether that node keeps it. It blocks for at most cluster.NoteTime. nil = the
	// nodes send each other no notes.
	SendNote func(ctx context.Context, to string, n *cluster.Note) bool

	Opened   message.Admitted // the client's principal and view
	Limits   config.Limits
	Expect   int // servers to wait for, up to StartWait, before initialize is answered; 0 = none
	Registry kernel.Reference
	Gateway  kernel.Reference
	Metrics  *status.Metrics
	Payloads *message.PayloadGate // nil = no payloads are kept
	Budget   *stream.Budget       // of bytes that are kept for resumption
	Audit    *audit.Log           // nil = there is none
	Log      *slog.Logger
}

// AskHome asks the home of a session about it. It may block until ctx ends, but not for long.
type AskHome func(ctx context.Context, id, holder string) HomeAnswer

// mailbox is the capacity of the session's mailbox, in messages.
const mailbox = 512

// Spawn starts the session under the gateway. A session that panics is not restarted: its client opens a new one.
func Spawn(parent kernel.Self, o Options) kernel.Reference {
	options := kernel.SpawnOptions{Name: ActorName(o.ID), Kind: "session", Mailbox: mailbox, Restarts: -1, Within: time.Minute, Log: o.Log}
	s := &session{Options: o} // the function below lives as long as the actor, so it captures as little as possible
	return kernel.SpawnChild(parent, options, func(self kernel.Self) kernel.Logic {
		s.state = newState(s.Options, self.Reference())
		return s
	})
}

// session is the shell: it executes the effects of step.
type session struct {
	Options
	state  *state
	meters map[string]*status.ServerMetrics // by server; saves a locked lookup for each call
	replay *downstream.Replay               // messages sent on the client's streams; nil = none yet, or its version cannot resume
	stream *downstream.EventStream          // sse: the stream that carries everything

	dropped uint64 // log and progress messages that were dropped because the client reads too slowly
}

func (s *session) Step(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	_, ends := msg.(kernel.Stopping) // a guest that ends remains a guest: otherwise it would tell the other nodes that the session has ended
	if s.Members != nil && !ends {
		out = s.state.adopt(now, s.Members.View(), out)
	}
	switch m := msg.(type) {
	case message.ClusterInbound:
		msg = m.Inbound
	case message.ClusterStream:
		msg = m.StreamOpened
	case message.ClusterEnd:
		msg = m.EndSession
	}
	if in, ok := msg.(message.Inbound); ok {
		s.Metrics.Bytes(status.Clients, status.In, len(in.Exchange.Frame.Raw)+len(in.Exchange.Batch))
	}
	if m, ok := msg.(message.Inbound); ok && s.state.isTheirs(m.Who) && !s.routeAnswers(m.Exchange) {
		return out
	}
	if ends {
		s.Metrics.SessionEnded(s.Transport, s.state.client.version, s.state.life.since)
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
	notFound        struct{ x *downstream.Exchange } // answers a principal other than the session's
	refuseEnded     struct{ x *downstream.Exchange } // answers that the session has ended
	refuseAdmission struct {                         // admission refused the message
		x       *downstream.Exchange
		refusal *message.Refusal
	}
	openStream struct {
		stream   *downstream.EventStream
		refusal  int    // HTTP status; 0 = accepted
		stranger bool   // refused because the session belongs to another principal
		endpoint string // sse: where the client's messages go
		resume   bool   // resume the stream that its Last-Event-ID names; streamReady follows if messages may be pushed to it
	}
	closeStream struct{ stream *downstream.EventStream }
	endReplay   struct{}
	guestEnded  struct{ last uint64 } // the highest number of a call or question
	tellNodes   struct{ hint cluster.Hint }
	askHome     struct{ holder string } // HomeAnswer follows
	homeAnswer  struct {                // answers a guest at another node
		message.GuestAsks
		HomeAnswer
	}
	// push writes to the newest of the client's streams that takes the message. If none does and undelivered is set,
	// the session gets it back.
	push struct {
		streams     []*downstream.EventStream
		method      protocol.Method
		message     protocol.Message
		key         string // of the waiting message that it replaces; "" = it replaces none and counts as a log line
		undelivered any    // what to keep if no stream takes it; nil = nothing

		subscription *clientsubs.Subscription // of a resource's update; else nil
	}
	coalesced struct{ subscription *clientsubs.Subscription } // an update replaced one that waited for a stream
	report    struct{ message.Inspect }
)

// Messages of the session to itself.
type (
	idleCheck      struct{ number uint64 }
	openTimeout    struct{}               // sse: openWait has passed
	streamsExpired struct{ at time.Time } // the client's credential may have expired
	streamReady    struct{ stream *downstream.EventStream }
	undelivered    struct{ what any } // what no stream took: a protocol.ItemKind, or a message.ResourceUpdated
)

func (undelivered) Class() kernel.Class { return kernel.Outcome }
func (streamReady) Class() kernel.Class { return kernel.Outcome }

func (s *session) Act(self kernel.Self, act any) {
	switch a := act.(type) {
	case reply.Answer, reply.AnswerPieces, reply.AnswerFault, reply.Notify, reply.Accept:
		s.dropped += uint64(reply.Perform(s.Metrics, a))
	case refuse:
		s.refuse(a)
	case refuseHop:
		a.refuse()
	case notFound:
		s.countStranger(&a.x.Origin, cmp.Or(a.x.Frame.MethodText(), "end"))
		message.RefuseNoSession(a.x)
	case refuseAdmission:
		a.refusal.Refuse(a.x, protocol.EraLegacy)
	case admission.Denied:
		a.Count(s.Metrics, s.Log)
	case *clientcalls.CallOutcome:
		a.Count(s.meter(a.Server), shortID(s.ID), message.HolderOf(self.Name()))
	case clientcalls.CallRefused:
		a.Store(s.Metrics, shortID(s.ID))
	case clientcalls.Audited:
		s.commitAudit(self, a)
	case push:
		s.push(self, a)
	case coalesced:
		a.subscription.Merged()
		s.Metrics.Notification(protocol.NotificationResourcesUpdated, status.Coalesced)
	case report:
		a.Reply(s.report())
	case openStream:
		s.openStream(self, a)
	case closeStream:
		a.stream.Close()
	case endReplay:
		s.endReplay()
	case guestEnded:
		s.keepNumber(a.last)
	case passOn:
		s.passOn(a)
	case sendNote:
		s.sendNote(self, a)
	case dropNote:
		s.dropNote(self, a)
	case refuseEnded:
		message.RefuseNoSession(a.x)
	case tellNodes, askHome, homeAnswer, moved:
		s.talk(self, a)
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
