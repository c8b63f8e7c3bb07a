package membership

import (
	"log/slog"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/cluster"
)

// Limits of the remembered verdicts. A process that was stopped for longer than verdictTime and then sends beats is heard
// as a member until it notices that its last beat is too old, which is the first thing it does.
const (
	maxVerdicts = 1024
	verdictTime = 24 * time.Hour
	repeatEvery = cluster.BeatEvery // between two repetitions of a verdict
)

// Reasons of verdicts that this node derives from the other node's own beats. They are sent only if an older beat arrives later.
const (
	reasonLeft    = "left"
	reasonRenewed = "renewed"
)

// verdicts are the incarnations that have ended, or that a node has given up.
type verdicts map[string]verdict

type verdict struct {
	node   string // name of the node
	reason string
	at     time.Time
	heard  time.Time // its last beat; zero = this node has heard none
	sent   time.Time // when this node has sent it last; zero = never
	round  uint64    // of its last beat
}

// add adds a verdict. If there are too many, the oldest is forgotten.
func (v verdicts) add(now time.Time, incarnation string, of verdict) {
	if _, known := v[incarnation]; known {
		return
	}
	if len(v) >= maxVerdicts {
		oldest := ""
		for i, other := range v {
			if oldest == "" || other.at.Before(v[oldest].at) || other.at.Equal(v[oldest].at) && i < oldest {
				oldest = i
			}
		}
		delete(v, oldest)
	}
	of.at = now
	v[incarnation] = of
}

// back forgets when a node was heard under its earlier incarnations, because it is back or has left on purpose. The status
// then no longer shows it as gone.
func (v verdicts) back(node string) {
	for incarnation, of := range v {
		if of.node == node {
			of.heard = time.Time{}
			v[incarnation] = of
		}
	}
}

func (v verdicts) sweep(now time.Time) {
	for incarnation, of := range v {
		if now.Sub(of.at) > verdictTime {
			delete(v, incarnation)
		}
	}
}

// giveUp gives a peer up, and tells all nodes.
func (s *state) giveUp(now time.Time, incarnation, reason string, out []kernel.Effect) []kernel.Effect {
	p := s.peers[incarnation]
	node := p.beat.Node
	delete(s.peers, incarnation)
	s.missEnded()
	s.verdicts.add(now, incarnation, verdict{node: node, reason: reason, heard: p.heard, round: p.beat.Round})
	out = append(out, kernel.Log(slog.LevelWarn, "a node of the cluster is given up", "node", node, "incarnation", incarnation, "reason", reason))
	return s.repeatVerdict(now, incarnation, out)
}

// repeatVerdict tells all nodes that an incarnation is over. Its process, if there is one, takes a new incarnation.
func (s *state) repeatVerdict(now time.Time, incarnation string, out []kernel.Effect) []kernel.Effect {
	of := s.verdicts[incarnation]
	if now.Sub(of.sent) < repeatEvery {
		return out
	}
	of.sent = now
	s.verdicts[incarnation] = of
	v := cluster.Verdict{Cluster: s.options.Cluster, By: s.own.incarnation, Node: of.node, Incarnation: incarnation, Reason: of.reason}
	return append(out, kernel.Act(publish{cluster.SubjectVerdict, v.Encode()}))
}

// hearVerdict handles the verdict of another node, which is final for this one, too.
func (s *state) hearVerdict(now time.Time, v *cluster.Verdict, out []kernel.Effect) []kernel.Effect {
	_, known := s.verdicts[v.Incarnation]
	switch {
	case v.Cluster != s.options.Cluster || known:
		return out
	case v.Incarnation == s.own.incarnation:
		return s.condemn(now, v.Reason, out)
	case s.mine(v.Incarnation):
		return out
	}
	p := s.peers[v.Incarnation]
	if p == nil {
		s.verdicts.add(now, v.Incarnation, verdict{node: v.Node, reason: v.Reason})
		return out
	}
	s.verdicts.add(now, v.Incarnation, verdict{node: p.beat.Node, reason: v.Reason, heard: p.heard, round: p.beat.Round})
	delete(s.peers, v.Incarnation)
	s.missEnded()
	return append(out, kernel.Log(slog.LevelWarn, "a node of the cluster is given up", "node", p.beat.Node, "incarnation", v.Incarnation, "reason", v.Reason))
}
