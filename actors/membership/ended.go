package membership

import (
	"context"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/cluster"
)

// The gateway remembers the sessions that have ended. This actor asks each node that it meets for them once, in pages, because the hints
// about them may not have reached this node. Under a new incarnation it asks again: it may have missed hints while it was cut off.

// endedOf is what this node knows about the ended sessions of a peer.
type endedOf struct {
	asking bool
	number uint64    // of the last query; answers to earlier ones are ignored
	at     time.Time // when the last query began
	next   string    // where the next page begins
	all    bool      // this node has asked for all pages
	ready  bool      // the peer was ready when it answered
}

// Effects and messages.
type (
	fetchEnded struct { // asks for a page of ended sessions; fetchedEnded follows
		incarnation string
		number      uint64
		question    []byte
	}
	fetchedEnded struct {
		incarnation string
		number      uint64
		payload     []byte
		err         error
	}
	answerEnded struct {
		after  string
		reply  func([]byte)
		answer cluster.Answer // complete except for Ended and Next
	}
	ended struct{ list []cluster.EndedSession } // tells the gateway
)

// fetchEnded asks a peer for the ended sessions that it knows, unless this node has received all of them. A failed query is repeated
// after a later beat.
func (s *state) fetchEnded(now time.Time, p *peer, out []kernel.Effect) []kernel.Effect {
	if p.ended.all && !s.join.done && !p.ended.ready && !p.beat.Joining { // it has become ready, and may know more
		p.ended.all, p.ended.next = false, ""
	}
	if p.ended.all || p.ended.asking || !p.ended.at.IsZero() && now.Sub(p.ended.at) < fetchEvery && s.join.done {
		return out
	}
	return s.fetchEndedPage(now, p, out)
}

func (s *state) fetchEndedPage(now time.Time, p *peer, out []kernel.Effect) []kernel.Effect {
	p.ended.asking, p.ended.at = true, now
	p.ended.number++
	q := cluster.Query{Cluster: s.options.Cluster, From: s.own.incarnation, Kind: cluster.QueryEnded, After: p.ended.next}
	return append(out, kernel.Act(fetchEnded{p.beat.Incarnation, p.ended.number, q.Encode()}))
}

// fetchedEnded passes a page on to the gateway, and asks for the next one.
func (s *state) fetchedEnded(now time.Time, m fetchedEnded, out []kernel.Effect) []kernel.Effect {
	p := s.peers[m.incarnation]
	if p == nil || !p.ended.asking || m.number != p.ended.number {
		return out
	}
	p.ended.asking = false
	if m.err != nil {
		return out
	}
	a, err := cluster.ParseAnswer(m.payload)
	if err != nil || a.Cluster != s.options.Cluster {
		return s.malformed(now, err, out)
	}
	if len(a.Ended) > 0 {
		out = append(out, kernel.Act(ended{a.Ended}))
	}
	if a.Next != "" && a.Next != p.ended.next {
		p.ended.next = a.Next
		return s.fetchEndedPage(now, p, out)
	}
	p.ended.all, p.ended.ready = true, !a.Joining
	s.join.ended = s.join.ended || !a.Joining
	return out
}

// missEnded makes this node ask all peers again, after it was cut off or a peer is gone, whose last hints may be lost.
func (s *state) missEnded() {
	for _, p := range s.peers {
		p.ended = endedOf{number: p.ended.number}
	}
}

// endedAct executes an effect that is about ended sessions.
func (m *membership) endedAct(self kernel.Self, act any) {
	switch a := act.(type) {
	case fetchEnded:
		self.Go(func(ctx context.Context) any {
			payload, err := m.ask(ctx, a.incarnation, a.question, queryTime)
			return fetchedEnded{a.incarnation, a.number, payload, err}
		})
	case answerEnded:
		if m.ListEnded == nil {
			a.reply(a.answer.Encode())
			return
		}
		m.ListEnded(a.after, func(list []cluster.EndedSession, next string) {
			answer := a.answer
			answer.Ended, answer.Next = list, next
			a.reply(answer.Encode())
		})
	case ended:
		if m.Ended != nil {
			m.Ended(a.list)
		}
	}
}
