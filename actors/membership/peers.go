package membership

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
)

// maxPeers is the maximum number of other nodes that are followed. Those beyond cluster.MaxMembers are not members, but become
// members when others leave.
const maxPeers = 2 * cluster.MaxMembers

// probeEvery is the minimum time between two queries to a peer about whether it still exists.
const probeEvery = 50 * time.Millisecond

// peer is another node, under one incarnation.
type peer struct {
	beat  *cluster.Beat // the last one
	heard time.Time     // when the last beat arrived; later if this node could not receive any

	probing  bool      // a query about whether it exists is in progress
	probedAt time.Time // when the last such query began
	fetching bool      // a query for its revocations is in progress
	fetchAt  time.Time // when the last such query began
	known    string    // digest of its revocations, all of which this node knows
	mismatch string    // digest of its revocations in the last beat, if it was not this node's
	ended    endedOf

	met    time.Time     // when its first beat arrived
	skew   time.Duration // its clock minus this node's
	config differing
	keys   differing
	warned warnings
}

func (p *peer) member() cluster.Member {
	b := p.beat
	return cluster.Member{
		Incarnation: b.Incarnation, Former: b.Former, Node: b.Node, Address: b.Address, Version: b.Version,
		Since: b.Since, Joining: b.Joining, Draining: b.Draining,
	}
}

// heard handles a message of another node.
func (s *state) heard(now time.Time, m message.Heard, out []kernel.Effect) []kernel.Effect {
	switch m.Subject {
	case cluster.SubjectBeat:
		b, err := cluster.ParseBeat(m.Payload)
		switch {
		case b != nil && b.Cluster != s.options.Cluster: // whatever its form
			return out
		case errors.Is(err, cluster.ErrVersion):
			return s.refuse(now, &b.Head, outsideVersion, out)
		case err != nil:
			return s.malformed(now, err, out)
		}
		return s.hear(now, b, out)
	case cluster.SubjectVerdict:
		v, err := cluster.ParseVerdict(m.Payload)
		if err != nil {
			return s.malformed(now, err, out)
		}
		return s.hearVerdict(now, v, out)
	case cluster.SubjectRevoked:
		r, err := cluster.ParseRevocations(m.Payload)
		if err != nil {
			return s.malformed(now, err, out)
		}
		if r.Cluster == s.options.Cluster {
			s.mergeRevoked(now, r.List)
		}
	case cluster.SubjectHint:
		h, err := cluster.ParseHint(m.Payload)
		if err != nil {
			return s.malformed(now, err, out)
		}
		return s.hearHint(now, h, out)
	}
	return out
}

// hear handles a beat of this cluster. Beats that are older than the last one are ignored.
func (s *state) hear(now time.Time, b *cluster.Beat, out []kernel.Effect) []kernel.Effect {
	if s.mine(b.Incarnation) {
		return out
	}
	if _, gone := s.verdicts[b.Incarnation]; gone {
		return s.repeatVerdict(now, b.Incarnation, out)
	}
	p := s.peers[b.Incarnation]
	switch {
	case b.Leaving:
		return s.left(now, b, out)
	case p == nil && len(s.peers) >= maxPeers:
		return s.refuse(now, &b.Head, outsideFull, out)
	case p == nil:
		p, out = s.meet(now, b, out)
	case b.Seq <= p.beat.Seq:
		return out
	}
	out = s.compareCatalog(now, p, b, s.charge(now, p, b, out))
	p.beat, p.heard = b, now
	s.compare(now, p)
	return s.fetchCatalogs(now, p, s.fetchEnded(now, p, s.fetchMissing(now, p, out)))
}

// meet begins to follow a node. Its former incarnations have ended. If another peer has the same
// name, its process has probably ended too, so meet probes it.
func (s *state) meet(now time.Time, b *cluster.Beat, out []kernel.Effect) (*peer, []kernel.Effect) {
	p := &peer{beat: &cluster.Beat{Head: b.Head}, met: now}
	s.verdicts.back(b.Node)
	text := "a node has joined the cluster"
	for _, f := range b.Former {
		p.beat.Round = max(p.beat.Round, s.verdicts[f].round) // this node has given it up
		if was := s.peers[f]; was != nil {
			text = "a node continues under a new incarnation"
			p.beat.Round = was.beat.Round // the rounds before it are accounted for
			p.beat.Generations = was.beat.Generations
			delete(s.peers, f)
		}
		if !s.mine(f) {
			s.verdicts.add(now, f, verdict{node: b.Node, reason: reasonRenewed})
		}
	}
	out = append(out, kernel.Log(slog.LevelInfo, text, "node", b.Node, "incarnation", b.Incarnation, "address", b.Address))
	for _, other := range s.sorted() {
		if other.beat.Node == b.Node {
			out = s.suspect(now, other.beat.Incarnation, out)
		}
	}
	s.peers[b.Incarnation] = p
	return p, s.greet(now, out)
}

// left removes a node that stops.
func (s *state) left(now time.Time, b *cluster.Beat, out []kernel.Effect) []kernel.Effect {
	s.verdicts.add(now, b.Incarnation, verdict{node: b.Node, reason: reasonLeft})
	s.verdicts.back(b.Node)
	if s.peers[b.Incarnation] == nil {
		return out
	}
	delete(s.peers, b.Incarnation)
	s.missEnded()
	return append(out, kernel.Log(slog.LevelInfo, "a node has left the cluster", "node", b.Node, "incarnation", b.Incarnation))
}

// silent returns the incarnations whose beats are missing.
func (s *state) silent(now time.Time) (list []string) {
	for incarnation, p := range s.peers {
		if now.Sub(p.heard) > cluster.SilentAfter {
			list = append(list, incarnation)
		}
	}
	slices.Sort(list)
	return list
}

// suspect asks whether an incarnation still has a process. The node may be named by a former incarnation.
func (s *state) suspect(now time.Time, incarnation string, out []kernel.Effect) []kernel.Effect {
	p := s.peers[incarnation]
	if p == nil {
		for _, other := range s.sorted() {
			if slices.Contains(other.beat.Former, incarnation) {
				p = other
			}
		}
	}
	if p == nil || p.probing || now.Sub(p.probedAt) < probeEvery {
		return out
	}
	p.probing, p.probedAt = true, now
	q := cluster.Query{Cluster: s.options.Cluster, From: s.own.incarnation, Kind: cluster.QueryPresence}
	return append(out, kernel.Act(probe{p.beat.Incarnation, q.Encode()}))
}

func (s *state) probed(now time.Time, m probed, out []kernel.Effect) []kernel.Effect {
	p := s.peers[m.incarnation]
	if p == nil {
		return out
	}
	p.probing = false
	if !m.absent {
		return out
	}
	return s.giveUp(now, m.incarnation, cluster.ReasonGone, out)
}

// abandonQueries forgets running queries, and applies revocations again that were being applied. It is called after a panic
// or a restart, which may have lost the results.
func (s *state) abandonQueries() {
	for _, p := range s.peers {
		p.probing, p.fetching, p.ended.asking = false, false, false
	}
	s.join.servers = nil
	s.revoked.applying, s.revoked.dirty = false, s.revoked.dirty || s.revoked.applying
}

// query answers a query of another node.
func (s *state) query(now time.Time, m message.NodeQuery, out []kernel.Effect) []kernel.Effect {
	q, err := cluster.ParseQuery(m.Payload)
	if err != nil {
		return s.malformed(now, err, out)
	}
	if q.Cluster != s.options.Cluster {
		return out
	}
	a := cluster.Answer{Revocations: cluster.Revocations{Cluster: s.options.Cluster, From: s.own.incarnation}, Joining: !s.join.done, Digest: s.revoked.digestText()}
	switch q.Kind {
	case cluster.QueryRevocations:
		a.List, a.More = cluster.Page(s.revoked.sorted(now), q.After)
	case cluster.QuerySession:
		return append(out, kernel.Act(answerSession{q, m.Reply, a}))
	case cluster.QueryEnded:
		return append(out, kernel.Act(answerEnded{q.After, m.Reply, a}))
	case cluster.QueryCatalogs:
		return append(out, kernel.Act(answerCatalog{q.After, m.Reply, a}))
	}
	return append(out, kernel.Act(answer{m.Reply, a.Encode()}))
}
