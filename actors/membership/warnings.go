package membership

import (
	"fmt"
	"log/slog"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/cluster"
)

// Limits of differences between nodes.
const (
	maxSkew    = 2 * time.Second
	differTime = time.Minute // until a different digest is a warning: a change reaches the nodes one after another
)

// differing says for how long a digest of a peer has differed from this node's.
type differing struct {
	since time.Time // zero = it does not differ
	long  bool      // it has differed for differTime
}

func (d *differing) compare(now time.Time, ours, theirs string) {
	switch {
	case ours == theirs || ours == "" || theirs == "":
		*d = differing{}
	case d.since.IsZero():
		d.since = now
	default:
		d.long = now.Sub(d.since) >= differTime
	}
}

// warnings are the conditions of a peer about which operators have been warned.
type warnings struct{ skewed, config, keys, namesake, outside bool }

// compare compares a peer with this node after its beat.
func (s *state) compare(now time.Time, p *peer) {
	p.skew = time.Duration(p.beat.Time-now.UnixMilli()) * time.Millisecond
	p.config.compare(now, s.facts.Config, p.beat.Config)
	p.keys.compare(now, s.facts.Keys, p.beat.Keys)
}

// conditions returns the conditions of a peer that operators should know about.
func (s *state) conditions(p *peer) (w warnings) {
	w = warnings{skewed: p.skew.Abs() > maxSkew, config: p.config.long, keys: p.keys.long, namesake: p.beat.Node == s.options.Node}
	for _, other := range s.peers {
		w.namesake = w.namesake || other != p && other.beat.Node == p.beat.Node
	}
	w.outside = s.view.Member(p.beat.Incarnation) == nil
	return w
}

// watch warns once of each condition that has begun. It waits for 2 × cluster.SilentAfter before it warns that a new peer has
// the name of another node, because that node may have ended and not been given up yet.
func (s *state) watch(now time.Time, out []kernel.Effect) []kernel.Effect {
	if !s.own.condemned && s.view.Member(s.own.incarnation) == nil && s.logs.allow(now, "this node") {
		out = append(out, kernel.Log(slog.LevelError, fmt.Sprintf("this node is not a member of the cluster, because %d nodes are members already", cluster.MaxMembers)))
	}
	for _, p := range s.sorted() {
		is := s.conditions(p)
		if is.namesake && now.Sub(p.met) < 2*cluster.SilentAfter {
			is.namesake = false
		}
		was := p.warned
		p.warned = is
		for _, c := range []struct {
			begun bool
			text  string
		}{
			{is.skewed && !was.skewed, fmt.Sprintf("the clocks of the nodes differ by %s", p.skew.Abs().Round(100*time.Millisecond))},
			{is.config && !was.config, "the nodes have different configurations"},
			{is.keys && !was.keys, "the nodes have different key files"},
			{is.namesake && !was.namesake, "two nodes of the cluster have the same name"},
		} {
			if c.begun {
				out = append(out, kernel.Log(slog.LevelWarn, c.text, "node", p.beat.Node, "incarnation", p.beat.Incarnation, "address", p.beat.Address))
			}
		}
		if is.outside && !was.outside {
			out = s.logRefused(now, &p.beat.Head, outsideFull, out)
		}
	}
	return out
}
