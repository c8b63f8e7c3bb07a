package cluster

import (
	"crypto/rand"
	"strings"
)

// IncarnationLength is the number of characters of an incarnation.
const IncarnationLength = 8

// NewIncarnation returns the name of one life of a node: 8 random characters of base32, 40 bits. A node takes one when
// it starts, and a new one each time the cluster has given it up.
func NewIncarnation() string { return strings.ToLower(rand.Text()[:IncarnationLength]) }

// ValidIncarnation reports whether s has the form of an incarnation.
func ValidIncarnation(s string) bool {
	if len(s) != IncarnationLength {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}
