package session

import (
	"crypto/rand"
	"strings"
)

// NewID returns an unguessable session id of visible ASCII: one character for the format, one for the node, and
// 26 of base32, 130 bits of crypto/rand. Ids are made and judged in this file only.
func NewID() string { return "1a" + strings.ToLower(rand.Text()) }

// idLength is the length of every id.
const idLength = 28

// ValidID reports whether id could be one of ours, before anything is looked up by it.
func ValidID(id string) bool {
	if len(id) != idLength || id[:2] != "1a" {
		return false
	}
	for i := 2; i < len(id); i++ {
		c := id[i]
		if (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}

// ActorName is the name of the actor that is the session, under the gateway's.
func ActorName(id string) string { return "session/" + id }
