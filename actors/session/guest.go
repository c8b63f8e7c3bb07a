package session

import (
	"slices"
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// A session of a cluster has a home, which is the node that opened it until that node is gone (home.go). The home holds the session's
// streams, subscriptions and tasks. On another node the same session is a guest. It begins with what the session id says, and serves
// the requests that need no more: pings, lists, and calls. All other messages go to the home (actors/front_cluster.go).

const (
	// guestIdle is the maximum time that a guest stays without requests. The next request makes a new one.
	guestIdle = time.Minute

	// maxGuestWaiting limits the messages that wait until a new guest can serve them.
	maxGuestWaiting = 64
)

// guest is the state of a session that was opened at another node, or whose home is another node now.
type guest struct {
	home     bool              // this node has become the session's home
	waiting  []message.Inbound // arrived before the guest could serve them, in order of arrival
	unsure   bool              // the first question to the home is not answered yet, or the servers lack the log level of the answer
	leveling uint64            // number of the message that tells the gateway of that level; 0 = none
	asking   bool              // a question to the home is not answered yet
	asked    time.Time         // when the last question was sent
	leveled  bool              // a hint has set the log level since asked
}

// beGuest makes the session what its facts say, as if its client had initialized it here. The numbers of its calls and
// questions begin after used, because an earlier guest of the same session may have used the lower ones: a late answer to an
// earlier question must not be taken for an answer to a later one.
func (s *state) beGuest(f *cluster.SessionFacts, used uint64) {
	s.guest = &guest{}
	s.calls.BeginAfter(used)
	s.questions.last = used
	s.client.initialized, s.client.ready = true, true
	s.client.path, s.client.version = f.Path, f.Version
	s.client.declare(f.Capabilities, f.Info)
}

// declare sets what the client says about itself when it initializes.
func (c *client) declare(capabilities, info []byte) {
	c.capabilities, c.info = capabilities, info
	c.can, c.extras = message.CanOf(capabilities).In(c.version), message.ExtrasOf(capabilities)
	c.name = admission.ClientName(info)
	c.asCaller = nil
}

// mustWait reports whether a guest cannot serve requests yet: it lacks the catalog or the home's first answer.
func (s *state) mustWait() bool {
	return s.guest != nil && (s.catalog.view == nil || s.guest.unsure)
}

// enqueue keeps a message until the guest can serve it.
func (s *state) enqueue(m message.Inbound, out []kernel.Effect) []kernel.Effect {
	if len(s.guest.waiting) >= maxGuestWaiting {
		return append(out, kernel.Act(refuse{m.Exchange, 503, &protocol.Fault{Name: protocol.Overloaded, Message: "too many messages wait in this session", Retryable: true}}))
	}
	s.guest.waiting = append(s.guest.waiting, m)
	return out
}

// takeWaiting removes the waiting call with that id. Other requests are answered soon and without a server, so they cannot be
// canceled.
func (s *state) takeWaiting(id string) (x *downstream.Exchange, found bool) {
	if s.guest == nil {
		return nil, false
	}
	for i, m := range s.guest.waiting {
		if x := m.Exchange; x.Frame.Kind == protocol.KindRequest && x.Frame.Method.Owner() == protocol.OwnerServer && string(x.Frame.IDBytes()) == id {
			s.guest.waiting = slices.Delete(s.guest.waiting, i, i+1)
			return x, true
		}
	}
	return nil, false
}

// serveEnqueued handles the messages that have waited, if the guest can serve them now.
func (s *state) serveEnqueued(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.guest == nil || s.mustWait() {
		return out
	}
	waiting := s.guest.waiting
	s.guest.waiting = nil
	for _, m := range waiting {
		out = s.inbound(now, m, s.renew(now, m.Who, m.Epoch, out))
	}
	return out
}

// refuseEnqueued answers the messages that still wait when the guest ends.
func (s *state) refuseEnqueued(fault *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	if s.guest == nil {
		return out
	}
	for _, m := range s.guest.waiting {
		out = append(out, kernel.Act(refuse{m.Exchange, 503, fault}))
	}
	s.guest.waiting = nil
	return out
}

// keepNumber makes the numbers of later guests on this node begin after last.
func (s *session) keepNumber(last uint64) {
	for used := s.Used.Load(); used < last && !s.Used.CompareAndSwap(used, last); used = s.Used.Load() {
	}
}

// idleLimit is how long the session may be idle. A guest that is used asks its home once in this time, which keeps the home from being
// idle too.
func (s *state) idleLimit() time.Duration {
	if s.isGuest() {
		return min(guestIdle, s.limits.SessionIdle/2)
	}
	return s.limits.SessionIdle
}

// FactsOf returns what the id of a session says that a client opens with initialize.
func FactsOf(x *downstream.Exchange, a *message.Admitted) *cluster.SessionFacts {
	f := &cluster.SessionFacts{Path: x.Origin.Path, Project: a.View.Project, Server: a.View.Server, Holder: a.Principal()}
	asked, _ := rawjson.Unquote(x.Params.Version.Of(x.Frame.Raw))
	f.Version = protocol.Negotiate(asked)
	f.Capabilities = x.Params.Capabilities.Of(x.Frame.Raw)
	f.Info = x.Params.ClientInfo.Of(x.Frame.Raw)
	return f
}
