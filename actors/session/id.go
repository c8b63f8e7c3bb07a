package session

import (
	"crypto/rand"
	"strings"
)

// NewID returns an unguessable session id of visible ASCII: one character for the format, one for the node, and 26 of base32,
// 130 bits of crypto/rand. A session that another node of a cluster can continue has an id of cluster.Secrets instead.
func NewID() string { return "1a" + strings.ToLower(rand.Text()) }

// idLength is the length of an id of NewID.
const idLength = 28

// ValidID reports whether id has the form of an id of NewID. It is checked before any lookup.
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

// ActorName returns the name of the session's actor under the gateway.
func ActorName(id string) string { return "session/" + id }

// FullName returns the full name of the session's actor, with one allocation: ids of a cluster are long.
func FullName(id string) string { return "gateway/session/" + id }

// IDOf returns the id of the session whose actor has that full name, or "" if it is not the name of a session's actor.
func IDOf(actor string) string {
	id, ok := strings.CutPrefix(actor, "gateway/session/")
	if !ok {
		return ""
	}
	return id
}
