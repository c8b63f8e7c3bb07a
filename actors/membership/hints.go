package membership

import (
	"cmp"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/cluster"
)

// Limits of the hints that this node sends. Clients cause hints, for example with cancellations. Hints must not displace
// the beats in the mailboxes of other nodes.
const (
	hintTime           = time.Second
	maxHints           = 1000 // of all sessions, in hintTime
	maxCancelHints     = 500  // of all sessions, in hintTime: clients send cancellations as often as they like
	maxMentionHints    = 250  // of all servers, in hintTime: servers mention as many resources as they like
	maxHintsPerSession = 64   // in hintTime, so that one client cannot use up maxHints; also of a server that mentions resources
)

// sentHints counts the hints of the current hintTime.
type sentHints struct {
	began     time.Time
	all       int
	cancels   int
	mentions  int
	bySession map[string]int
}

// allow reports whether a hint may be sent, and counts it if so.
func (c *sentHints) allow(now time.Time, kind cluster.HintKind, session string) bool {
	if now.Sub(c.began) >= hintTime {
		*c = sentHints{began: now, bySession: map[string]int{}}
	}
	if c.all >= maxHints || c.bySession[session] >= maxHintsPerSession ||
		kind == cluster.HintCancel && c.cancels >= maxCancelHints || kind == cluster.HintMentioned && c.mentions >= maxMentionHints {
		return false
	}
	switch kind {
	case cluster.HintCancel:
		c.cancels++
	case cluster.HintMentioned:
		c.mentions++
	}
	c.all++
	c.bySession[session]++
	return true
}

// tellNodes sends a hint to the other nodes, unless there are too many. While this node is draining, it sends no HintEnded, because its
// sessions go on at other nodes.
func (s *state) tellNodes(now time.Time, h cluster.Hint, out []kernel.Effect) []kernel.Effect {
	if s.own.draining && h.Kind == cluster.HintEnded || !s.hints.allow(now, h.Kind, cmp.Or(h.Session, h.Server)) {
		return out
	}
	h.Cluster, h.From = s.options.Cluster, s.own.incarnation
	payload, err := h.Encode()
	if err != nil { // the client's request id is too long
		return out
	}
	return append(out, kernel.Act(publish{cluster.SubjectHint, payload}))
}

// hearHint passes on a hint about a session. For HintDead, it checks whether the node still exists. Hints from an incarnation that was
// given up are ignored, because it may still act as the home of sessions that have moved.
func (s *state) hearHint(now time.Time, h *cluster.Hint, out []kernel.Effect) []kernel.Effect {
	_, gone := s.verdicts[h.From]
	switch {
	case h.Cluster != s.options.Cluster || s.mine(h.From) || gone:
	case h.Kind == cluster.HintDead:
		return s.suspect(now, h.Incarnation, out)
	case s.options.Hint != nil:
		return append(out, kernel.Act(hint{h}))
	}
	return out
}

// answerSession answers the question of another node about a session whose guest runs there.
func (m *membership) answerSession(a answerSession) {
	if m.Session == nil {
		a.reply(a.answer.Encode())
		return
	}
	m.Session(a.query.Session, a.query.Holder, func(life cluster.SessionLife, level string) {
		answer := a.answer
		answer.Session, answer.Level = life, level
		a.reply(answer.Encode())
	})
}
