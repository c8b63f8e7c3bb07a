package session

import (
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol"
)

// tellNodes tells the other nodes of the cluster about an event of the session. It has no effect without a cluster.
func (s *state) tellNodes(h cluster.Hint, out []kernel.Effect) []kernel.Effect {
	if s.cluster == "" || s.transport != "http" { // the other transports have no guests
		return out
	}
	h.Session, h.Holder = s.id, message.PrincipalOf(s.principal.who)
	return append(out, kernel.Act(tellNodes{h}))
}

// tellEnded tells the nodes of the cluster, this one included, that the session has ended, so that none opens it again.
func (s *state) tellEnded(out []kernel.Effect) []kernel.Effect {
	if s.cluster == "" || s.transport != "http" {
		return out
	}
	deleted := s.life.deleted != nil || s.life.endedByOperator
	out = append(out, kernel.Tell(s.gateway, message.RememberEnded{ID: s.id, Deleted: deleted}))
	return s.tellNodes(cluster.Hint{Kind: cluster.HintEnded, Deleted: deleted}, out)
}

// hinted handles a hint of another node about the session. A hint of another holder has no effect. All hints except cancellations come
// from the home, so only guests handle them.
func (s *state) hinted(now time.Time, m message.SessionHint, out []kernel.Effect) []kernel.Effect {
	switch {
	case m.Holder != message.PrincipalOf(s.principal.who):
	case m.Kind == cluster.HintCancel:
		out, _ = s.cancelHere(now, string(m.Request), out)
	case !s.isGuest():
	case m.Kind == cluster.HintEnded:
		return s.homeEnded(out)
	case m.Kind == cluster.HintRoots:
		return s.tellRootsPools(out)
	case m.Kind == cluster.HintLevel && m.Level != protocol.LevelNone:
		s.guest.leveled = true
		return s.adoptLevel(m.Level, out)
	}
	return out
}

// adoptLevel makes a guest pass on the log lines of its calls that the client wants, as its home does.
func (s *state) adoptLevel(level protocol.Level, out []kernel.Effect) []kernel.Effect {
	if level == s.client.level {
		return out
	}
	s.client.level = level
	return append(out, kernel.Tell(s.gateway, message.SetSessionLevel{Session: s.self, Level: level}))
}

// tellRootsPools tells the pools of the servers that asked for the client's roots that these have changed.
func (s *state) tellRootsPools(out []kernel.Effect) []kernel.Effect {
	for _, server := range slices.Sorted(maps.Keys(s.questions.rootsPools)) {
		out = append(out, kernel.Tell(s.questions.rootsPools[server], message.RootsChanged{Client: s.id}))
	}
	return out
}

// CancelHint returns the hint that tells all nodes to cancel a request of a session. request is its id as raw JSON. CancelHint returns
// false if that is neither a string nor a number.
func CancelHint(id, holder string, request []byte) (h cluster.Hint, ok bool) {
	if len(request) == 0 || request[0] != '"' && request[0] != '-' && (request[0] < '0' || request[0] > '9') {
		return h, false
	}
	return cluster.Hint{Kind: cluster.HintCancel, Session: id, Holder: holder, Request: slices.Clone(request)}, true
}
