package seal

import (
	"strings"
	"time"
)

// Nodes gives a Sealer the keys of a cluster. In a cluster, a requestState begins with the incarnation of the node that
// sealed it, and a dot. Each incarnation has keys of its own, which every node can derive. Its methods are safe for
// concurrent use. Lists of keys are never empty; the first key seals, and all of them open.
type Nodes interface {
	Current() string // the incarnation of this node; may change
	StateKeys(incarnation string) [][32]byte
	TaskKeys() [][32]byte // the same on all nodes
}

const (
	nodeMark = "." // not in the alphabet of base64url

	// clockGrace is how long a state that another node sealed is valid after its expiry, because clocks differ.
	clockGrace = 30 * time.Second
)

// NewShared returns a Sealer for a node of a cluster.
func NewShared(nodes Nodes) *Sealer { return &Sealer{nodes: nodes} }

// Node returns the incarnation of this node, or "" if the gateway runs alone.
func (s *Sealer) Node() string {
	if s.nodes == nil {
		return ""
	}
	return s.nodes.Current()
}

// NodeIn returns the incarnation with which a requestState of a cluster begins, or "". It does not check the seal.
func NodeIn(text string) string {
	incarnation, _, ok := strings.Cut(text, nodeMark)
	if !ok {
		return ""
	}
	return incarnation
}

// boxesOf splits a requestState. It returns the keys that may open the rest, or nil if the text does not begin with an
// incarnation; the rest; and the time at which to judge its expiry.
func (s *Sealer) boxesOf(text string, now time.Time) (boxes []*box, rest string, at time.Time) {
	incarnation, rest, ok := strings.Cut(text, nodeMark)
	if !ok || len(incarnation) > maxIncarnation {
		return nil, "", now
	}
	for _, key := range s.nodes.StateKeys(incarnation) {
		boxes = append(boxes, newBox(key))
	}
	if incarnation != s.nodes.Current() {
		now = now.Add(-clockGrace)
	}
	return boxes, rest, now
}

// maxIncarnation is the length of the longest incarnation in bytes.
const maxIncarnation = 64
