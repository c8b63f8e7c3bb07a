package membership

import (
	"log/slog"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/cluster"
)

// joinTime is how long a starting node waits for a member to send it the cluster's revocations. A node that starts alone is
// ready after this time.
const joinTime = time.Second

// fetchEvery is the minimum time between two queries to one node for its revocations, and between two for its ended sessions, except
// while this node starts.
const fetchEvery = time.Second

// join is the state of a node that starts.
type join struct {
	started time.Time
	done    bool // the node is ready
	told    bool // this node knows all revocations of a node that is ready
	ended   bool // this node knows all ended sessions of a node that is ready

	catalogs joinCatalogs
	servers  map[string]struct{} // servers whose catalogs another node is asked for; see fetch_server.go
}

// becomeReady makes the node ready when it is a member, has applied the cluster's revocations, and knows the cluster's ended sessions
// and catalogs. After joinTime it waits for none of these but its membership.
func (s *state) becomeReady(now time.Time, out []kernel.Effect) []kernel.Effect {
	j := &s.join
	if j.done || !s.own.condemned && s.view.Member(s.own.incarnation) == nil { // the cluster is full
		return out
	}
	late := now.Sub(j.started) >= joinTime
	if !late && (!j.told || !j.ended || !j.catalogs.done && s.knowsEqual() || s.revoked.dirty || s.revoked.applying) {
		return out
	}
	if ready := s.readyPeers(); !j.told && ready > 0 {
		out = append(out, kernel.Log(slog.LevelWarn, "no node of the cluster has sent its revoked keys yet; this node serves clients without knowing them", "nodes", ready))
	}
	j.done = true
	return s.greet(now, out)
}

// knowsEqual reports whether another node that is ready has the same configuration.
func (s *state) knowsEqual() bool {
	for _, p := range s.peers {
		if !p.beat.Joining && p.beat.Config == s.facts.Config {
			return true
		}
	}
	return false
}

// readyPeers returns the number of the other nodes that are ready. Those that start at the same time know no revocations either.
func (s *state) readyPeers() (n int) {
	for _, p := range s.peers {
		if !p.beat.Joining {
			n++
		}
	}
	return n
}

// fetchMissing asks a peer for its revocations if their digest differs from this node's. Unless this node is starting, two
// beats in a row must have the same digest, because a revocation may still be on its way.
func (s *state) fetchMissing(now time.Time, p *peer, out []kernel.Effect) []kernel.Effect {
	theirs, lasting := p.beat.Revoked, p.mismatch == p.beat.Revoked
	if p.mismatch = theirs; theirs == s.revoked.digestText() || theirs == "" {
		p.mismatch = ""
		s.join.told = s.join.told || !p.beat.Joining
		return out
	}
	starting := !s.join.done && !p.beat.Joining
	if p.fetching || theirs == p.known || !starting && (!lasting || now.Sub(p.fetchAt) < fetchEvery) {
		return out
	}
	p.fetchAt = now
	return s.fetchPage(p, "", out)
}

func (s *state) fetchPage(p *peer, after string, out []kernel.Effect) []kernel.Effect {
	p.fetching = true
	q := cluster.Query{Cluster: s.options.Cluster, From: s.own.incarnation, Kind: cluster.QueryRevocations, After: after}
	return append(out, kernel.Act(fetch{p.beat.Incarnation, q.Encode()}))
}

// fetched adds a page of revocations, and asks for the next one. A failed query is repeated after a later beat.
func (s *state) fetched(now time.Time, m fetched, out []kernel.Effect) []kernel.Effect {
	p := s.peers[m.incarnation]
	if p == nil {
		return out
	}
	p.fetching = false
	if m.err != nil {
		return out
	}
	a, err := cluster.ParseAnswer(m.payload)
	if err != nil || a.Cluster != s.options.Cluster {
		return s.malformed(now, err, out)
	}
	s.mergeRevoked(now, a.List)
	if a.More {
		return s.fetchPage(p, a.List[len(a.List)-1].Holder, out)
	}
	p.known = a.Digest
	s.join.told = s.join.told || !a.Joining
	return out
}
