package session

import (
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/clientcalls"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol/downstream"
)

// openWait is how long a client that opened a stream of HTTP+SSE has to send initialize.
const openWait = time.Minute

// state is the session's entire state. Only step modifies it.
type state struct {
	id        string
	node      string // names this gateway to other gateways
	cluster   string // incarnation of this node; "" = the gateway is not a node of a cluster
	transport string // http | sse | stdio
	limits    config.Limits
	registry  kernel.Reference
	gateway   kernel.Reference
	self      kernel.Reference

	principal principal
	catalog   visible
	client    client
	life      life
	guest     *guest                                                     // nil = this node has opened the session, and is its home
	noting    noting                                                     // what the next home must know
	calls     clientcalls.Calls[*heldCall, string, *downstream.Exchange] // by the client's raw ids
	questions questions
	subs      subscriptions
	tasks     tasks
	streams   []*downstream.EventStream   // oldest first; never changed in place
	tenantOf  map[string]kernel.Reference // pools with connections for this client alone, by server
}

// life holds the session's times and the reasons for it to end.
type life struct {
	since    time.Time
	lastSeen time.Time
	checks   uint64               // number of the running timer of idleCheck
	draining bool                 // the gateway is shutting down: the session ends when its calls have ended
	deleted  *downstream.Exchange // the client's DELETE, answered when the session has ended; nil = none

	endedByOperator bool
}

func newState(o Options, self kernel.Reference) *state {
	s := &state{
		id: o.ID, node: o.Node, cluster: o.Cluster, transport: o.Transport, limits: o.Limits, registry: o.Registry, gateway: o.Gateway, self: self,
		principal: principal{who: o.Opened.Who, epoch: o.Opened.Epoch, behalf: o.Opened.Behalf},
		catalog:   visible{key: o.Opened.View},
		client:    client{awaitedServers: o.Expect},
	}
	s.noting.sends = o.SendNote != nil
	s.calls = clientcalls.New[*heldCall, string](s, self)
	s.calls.KeepPayloads(o.Payloads)
	if o.Facts != nil {
		s.beGuest(o.Facts, o.Used.Load())
	}
	return s
}

// put sets a value in a map, which it creates if needed. Many sessions are open and idle, and most never need these maps.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// step applies msg to s at the time now and appends the resulting effects to out. Each message is handled by the part of the state
// that it is about.
func step(s *state, now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	for _, route := range [...]func(*state, time.Time, any, []kernel.Effect) ([]kernel.Effect, bool){
		(*state).clientStep, (*state).callStep, (*state).pushStep, (*state).noteStep, (*state).lifeStep,
	} {
		if out, handled := route(s, now, msg, out); handled {
			return out
		}
	}
	return out
}

// clientStep handles messages from the client, and the answers for which the client's requests other than calls wait.
func (s *state) clientStep(now time.Time, msg any, out []kernel.Effect) (_ []kernel.Effect, handled bool) {
	switch m := msg.(type) {
	case message.Inbound:
		if !s.isTheirs(m.Who) {
			x := m.Exchange
			return s.calls.AuditStranger(m.Who, &x.Origin, x.Frame.MethodText(), append(out, kernel.Act(notFound{x}))), true
		}
		if out, passed := s.notHere(m, out); passed {
			return out, true
		}
		s.life.lastSeen = now
		if s.mustWait() {
			return s.enqueue(m, out), true
		}
		return s.inbound(now, m, s.renew(now, m.Who, m.Epoch, out)), true
	case message.StreamOpened:
		if !s.isTheirs(m.Who) {
			return s.calls.AuditStranger(m.Who, &m.Stream.Origin, "stream", append(out, kernel.Act(openStream{stream: m.Stream, refusal: 404, stranger: true}))), true
		}
		if out, passed := s.notHere(m, out); passed {
			return out, true
		}
		s.life.lastSeen = now
		return s.streamOpened(now, m, s.renew(now, m.Who, m.Epoch, out)), true
	case streamReady:
		return s.streamReady(now, m.stream, out), true
	case streamsExpired:
		return s.streamsExpired(now, m, out), true
	case message.StreamClosed:
		s.life.lastSeen = now
		return s.streamClosed(m, out), true
	case message.EndSession:
		return s.endSession(m, out), true
	case message.SubscribeURIResult:
		return s.subscribed(m, out), true
	case message.ReserveSubscriptionsResult:
		return s.reservationResult(m, out), true
	case message.SetSessionLevelResult:
		return s.levelSet(now, m, out), true
	}
	return out, false
}

// noteStep handles messages about the session's note.
func (s *state) noteStep(_ time.Time, msg any, out []kernel.Effect) (_ []kernel.Effect, handled bool) {
	switch m := msg.(type) {
	case noteSent:
		return s.noteSent(m, out), true
	case noteDue:
		if m.seq == s.noting.seq && !s.noting.sending {
			out = s.noteChanged(out)
		}
		return out, true
	case message.NoteKept:
		return s.takeNote(out), true
	case message.NoteTaken:
		return s.noteTaken(m, out), true
	}
	return out, false
}

// callStep handles messages about the client's calls and tasks.
func (s *state) callStep(now time.Time, msg any, out []kernel.Effect) (_ []kernel.Effect, handled bool) {
	switch m := msg.(type) {
	case message.TaskMade:
		return s.taskMade(m, out), true
	case message.TaskNotification:
		return s.taskNotified(m, out), true
	}
	return s.calls.Step(now, msg, out)
}

// pushStep handles events that are pushed to the client on its streams.
func (s *state) pushStep(now time.Time, msg any, out []kernel.Effect) (_ []kernel.Effect, handled bool) {
	switch m := msg.(type) {
	case message.Published:
		return s.published(now, m, out), true
	case message.ResourceUpdated:
		return s.updated(m, out), true
	case message.ResourcesUpdated:
		return s.allUpdated(m.Server, out), true
	case message.ServerLog:
		return s.serverLog(m, out), true
	case message.ElicitationDone:
		return append(out, kernel.Act(push{streams: s.streams, method: m.Frame.Method, message: m.Frame.Message(), key: string(m.Frame.Raw)})), true
	case undelivered:
		return s.undelivered(m, out), true
	}
	return out, false
}

// lifeStep handles the beginning and end of the session, and reports.
func (s *state) lifeStep(now time.Time, msg any, out []kernel.Effect) (_ []kernel.Effect, handled bool) {
	switch m := msg.(type) {
	case kernel.Started:
		return s.start(now, out), true
	case message.Principals:
		return s.principals(now, m, out), true
	case message.GuestAsks:
		return s.answerGuest(now, m, out), true
	case HomeAnswer:
		return s.homeAnswered(now, m, out), true
	case kernel.GoPanicked: // perhaps the question to the home, or a note to the heir
		if out = s.homeAnswered(now, HomeAnswer{}, out); s.noting.sending {
			out = s.noteSent(noteSent{seq: s.noting.seq}, out)
		}
		return out, true
	case message.SessionHint:
		return s.hinted(now, m, out), true
	case message.EndedElsewhere:
		return s.homeEnded(out), true
	case message.CloseIfIdle:
		if !s.busy() && (len(s.streams) == 0 || m.Streams) {
			return append(out, kernel.StopSelf()), true
		}
		return append(out, kernel.Tell(s.gateway, message.SessionBusy{Session: s.self})), true
	case message.QueryIdleSince:
		return append(out, kernel.Tell(m.To, message.IdleSince{Survey: m.Survey, Session: s.self, At: s.life.lastSeen, Calls: s.busy(), Streams: len(s.streams) > 0, Guest: s.isGuest()})), true
	case message.End:
		return s.endByOperator(m, out), true
	case message.DrainSession:
		s.life.draining = true
		return s.leaveWhenDrained(out), true
	case idleCheck:
		if m.number == s.life.checks {
			out = s.idle(now, out)
		}
	case openTimeout:
		if !s.client.initialized {
			out = append(out, kernel.StopSelf())
		}
	case admission.StartWaitOver:
		s.client.awaitedServers = 0
		return s.serveWaiting(now, out), true
	case message.MembersChanged: // adopt has done what there is to do
	case message.NewLimits: // a shorter sessionIdle takes effect at the next check
		s.limits = m.Limits
	case message.Inspect:
		return append(out, kernel.Act(report{m})), true
	case kernel.Stopping:
		return s.stop(now, m.Reason, out), true
	default:
		return out, false
	}
	return out, true
}
