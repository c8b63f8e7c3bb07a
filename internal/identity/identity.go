// Package identity says who a client is. It is a leaf: transports put a Principal on what they hand on, actors compare it,
// and neither needs to know how it was found out (internal/auth).
package identity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// How a principal was found out.
const (
	ViaLocal = "local" // nobody was asked: a client on this machine while there is no auth, or on stdin
	ViaKey   = "key"   // an API key
)

// LocalID is the id of the one principal that is never asked who it is.
const LocalID = "local"

// Principal is who a client is, and what that lets it do. Immutable: nobody writes to it, its slices included, so it travels
// between actors by reference. New rights are a new Principal.
type Principal struct {
	ID   string // unique and stable: "local", "key:ci"; what people, rates and the audit log know it by
	Name string // for people
	Via  string // ViaLocal, ViaKey

	// Rights is the set of roles in force, in one canonical writing: part of the key of catalog views. "" = there is no
	// policy, and everything is permitted.
	Rights string
	// Policy is the one that Rights were found out under: in another one the same names may mean something else. nil = there was none.
	Policy Policy

	Projects []string  // the only projects it may use; nil = all, and none at all
	Expires  time.Time // when it is nobody any more; zero = never
	Admin    Admin     // what it may do on an admin listener

	// Holder is what belongs to it is bound to: sessions, seals, tasks, its connections and logins at servers, on disk too. It tells the credentials of
	// one id apart: whoever has the id later, with another one, is somebody else, and holds nothing of this one. See Held. "" = the id.
	Holder string
}

// Policy says what rights mean. It is internal/policy's, and carried along here.
type Policy interface {
	Reports() bool // it only says what it would refuse
}

// holderMark stands in a holder between the id and what tells its credentials apart, of which there are so many digits.
const (
	holderMark   = "@"
	holderDigits = 16
)

// Held is the holder of an id with that credential.
func Held(id string, credential uint64) string {
	return fmt.Sprintf("%s%s%0*x", id, holderMark, holderDigits, credential)
}

// IDIn is the id in a holder: what people are shown.
func IDIn(holder string) string {
	at := len(holder) - holderDigits - len(holderMark)
	if at <= 0 || holder[at:at+len(holderMark)] != holderMark || strings.Trim(holder[at+len(holderMark):], "0123456789abcdef") != "" {
		return holder
	}
	return holder[:at]
}

// HolderOf is the holder of Of(p).
func HolderOf(p *Principal) string {
	p = Of(p)
	return cmp.Or(p.Holder, p.ID)
}

// Admin is what a principal may do of what operators do.
type Admin uint8

// What operators do.
const (
	AdminNone Admin = iota
	AdminView       // look
	AdminAct        // look, and act
)

// Local is whoever has this machine's user, or is on it while nobody is asked.
var Local = &Principal{ID: LocalID, Name: LocalID, Via: ViaLocal, Admin: AdminAct}

// Of is the principal, or Local where none was found out: nil is what stdio and tests have.
func Of(p *Principal) *Principal {
	if p == nil {
		return Local
	}
	return p
}

// IDOf is the id of Of(p).
func IDOf(p *Principal) string { return Of(p).ID }

// Same reports whether two principals are one: they have the same id, and have shown the same credential.
func Same(a, b *Principal) bool {
	return IDOf(a) == IDOf(b) && HolderOf(a) == HolderOf(b)
}

// Alike reports whether two values of one principal differ in nothing but the policy that says what its rights mean.
func Alike(a, b *Principal) bool {
	return Same(a, b) && a.Rights == b.Rights && a.Name == b.Name && a.Expires.Equal(b.Expires) && a.Admin == b.Admin &&
		(a.Projects == nil) == (b.Projects == nil) && slices.Equal(a.Projects, b.Projects)
}

// May reports whether the principal may use the project; "" = no project.
func (p *Principal) May(project string) bool {
	return p == nil || p.Projects == nil || project != "" && slices.Contains(p.Projects, project)
}

// Operates reports whether the principal may act for all: it has this machine's user, or a role says so. Without roles a key is
// somebody's who uses the gateway, not whose it is.
func (p *Principal) Operates() bool {
	return p != nil && p.Admin == AdminAct && (p.ID == LocalID || p.Rights != "")
}
