package membership

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"goblin-actor/internal/cluster"
	"goblin-actor/internal/status"
)

const namesakeText = "another process has the same name; every node needs a name of its own"

// report returns this node's part of the status: the nodes that it knows, sorted by name.
func (s *state) report(now time.Time) []status.Node {
	o := s.options
	self := status.Node{
		Name: o.Node, Incarnation: s.own.incarnation, Address: o.Address, Version: o.Version, Self: true,
		State: s.stateOf(s.own.incarnation, !s.join.done, s.own.draining),
	}
	if self.State == status.NodeOutside && !s.own.condemned {
		self.Warnings = []string{outsideFull}
	}
	list := []status.Node{}
	for incarnation, p := range s.peers {
		if p.warned.namesake && p.beat.Node == o.Node && len(self.Warnings) == 0 {
			self.Warnings = []string{namesakeText}
		}
		list = append(list, status.Node{
			Name: p.beat.Node, Incarnation: incarnation, Address: p.beat.Address, Version: p.beat.Version, LastBeat: p.heard.Truncate(time.Second),
			State: s.stateOf(incarnation, p.beat.Joining, p.beat.Draining), Warnings: warningsOf(p),
		})
	}
	for incarnation, of := range s.outsiders {
		if s.peers[incarnation] != nil || now.Sub(of.heard) > outsiderTime {
			continue
		}
		reason := of.reason
		if reason == outsideVersion {
			reason += fmt.Sprintf(": it speaks versions %s of the cluster's messages, this node speaks %s", versionsText(of.head.Speaks), versionsText(cluster.Spoken))
		}
		list = append(list, status.Node{
			Name: of.head.Node, Incarnation: incarnation, Version: of.head.Version, LastBeat: of.heard.Truncate(time.Second), State: status.NodeOutside, Warnings: []string{reason},
		})
	}
	list = append(s.appendGone(list, now), self)
	slices.SortFunc(list, func(a, b status.Node) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.Incarnation, b.Incarnation)
	})
	return list
}

// Limits of the nodes that the status shows after they were given up.
const (
	goneTime = time.Hour
	maxGone  = cluster.MaxMembers
)

// appendGone appends nodes that were given up within goneTime and are not back, one row for each name. Of more than maxGone
// such nodes, it appends those that were heard last.
func (s *state) appendGone(list []status.Node, now time.Time) []status.Node {
	back := map[string]bool{s.options.Node: true}
	for _, p := range s.peers {
		back[p.beat.Node] = true
	}
	var gone []status.Node
	for incarnation, of := range s.verdicts {
		if back[of.node] || of.heard.IsZero() || now.Sub(of.heard) > goneTime {
			continue
		}
		gone = append(gone, status.Node{Name: of.node, Incarnation: incarnation, State: status.NodeGone, LastBeat: of.heard.Truncate(time.Second)})
	}
	slices.SortFunc(gone, func(a, b status.Node) int {
		return cmp.Or(b.LastBeat.Compare(a.LastBeat), strings.Compare(a.Incarnation, b.Incarnation))
	})
	for i := range gone[:min(len(gone), maxGone)] {
		if n := &gone[i]; !back[n.Name] {
			back[n.Name] = true
			list = append(list, *n)
		}
	}
	return list
}

func (s *state) stateOf(incarnation string, joining, draining bool) status.NodeState {
	switch {
	case s.view == nil: // before JoinCluster
		return status.NodeJoining
	case s.view.Member(incarnation) == nil:
		return status.NodeOutside
	case draining:
		return status.NodeDraining
	case joining:
		return status.NodeJoining
	}
	return status.NodeMember
}

// warningsOf returns what an operator should know about a peer.
func warningsOf(p *peer) (list []string) {
	w := p.warned
	for _, c := range []struct {
		is   bool
		text string
	}{
		{w.skewed, fmt.Sprintf("its clock differs by %s", p.skew.Round(100*time.Millisecond))},
		{w.config, "its configuration differs from this node's"},
		{w.keys, "its key file differs from this node's"},
		{w.namesake, namesakeText},
		{w.outside, outsideFull},
	} {
		if c.is {
			list = append(list, c.text)
		}
	}
	return list
}
