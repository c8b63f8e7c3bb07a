package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
)

// perNode are the keys of the section cluster that usually differ between the nodes.
var perNode = []string{"node", "listen", "routes"}

// digest returns a digest of the file's keys and values as written, or "" if root is nil. Two files have the same digest if they differ only in
// comments, layout and the keys in perNode. References are not expanded: what differs between the nodes comes from references, and a digest of
// values could reveal a secret. So the digest does not show that a variable or another file differs.
func digest(root *node) string {
	if root == nil {
		return ""
	}
	h := sha256.New()
	for _, m := range root.members {
		if m.key == "cluster" && m.value.kind == mapping {
			shared := *m.value
			shared.members = slices.DeleteFunc(slices.Clone(m.value.members), func(m member) bool { return slices.Contains(perNode, m.key) })
			m.value = &shared
		}
		hashNode(h, textNode(m.key))
		hashNode(h, m.value)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// hashNode writes a tree to h. The length before each text and the number of children before each list and mapping keep different trees
// apart.
func hashNode(h hash.Hash, n *node) {
	switch {
	case n.kind == mapping:
		fmt.Fprintf(h, "{%d", len(n.members))
		for _, m := range n.members {
			hashNode(h, textNode(m.key))
			hashNode(h, m.value)
		}
	case n.kind == list:
		fmt.Fprintf(h, "[%d", len(n.items))
		for _, item := range n.items {
			hashNode(h, item)
		}
	case n.empty():
		fmt.Fprint(h, "-")
	default:
		fmt.Fprintf(h, "%d:%s", len(n.text), n.text)
	}
}
