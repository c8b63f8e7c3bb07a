// Package identity describes clients that have been identified. It imports no other package of the gateway: transports
// attach a Principal to requests and actors compare it, and neither depends on how it was authenticated
// (internal/auth).
package identity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Values of Principal.Via.
const (
	ViaLocal = "local" // not authenticated: a client on this machine while no auth is configured, or on stdin
	ViaKey   = "key"   // authenticated by an API key
	ViaNode  = "node"  // another node of the cluster
)

// LocalID is the id of the principal of unauthenticated clients.
const LocalID = "local"

// Principal is an identified client with its rights. It is immutable, including its slices, so actors share it by
// reference. Changed rights give a new Principal.
type Principal struct {
	ID   string // such as "local" or "key:ci"; unique among current principals, but a later key of that name has it too, see Holder
	Name string // display name
	Via  string // ViaLocal, ViaKey

	// Rights are the roles in force in canonical form; they are part of the key of catalog views. "" = no policy,
	// everything is permitted.
	Rights string
	// Policy is the policy that Rights refer to: under another one the same names may mean something else. nil = none.
	Policy Policy

	Projects []string  // the projects it may use; nil = all, and requests outside of projects
	Expires  time.Time // expiry of its credential; zero = never
	Admin    Admin     // its access to admin operations

	Usage *Usage // counts what it does; all values with the same ID share it. nil = it is counted as local

	// Holder identifies the owner of the principal's resources: sessions, seals, tasks, and connections and logins to
	// servers, including those on disk. It distinguishes credentials with the same id: a later credential under the
	// same id is another holder and owns none of these resources. See Held. "" = ID.
	Holder string

	// behalf is set if another node of the cluster sends the request, see OnBehalf.
	behalf *Behalf
}

// Policy interprets rights. It is implemented by internal/policy.
type Policy interface {
	Reports() bool // reports whether the policy only reports what it would refuse
}

// A holder is an id, holderMark, and holderDigits hexadecimal digits that identify the credential.
const (
	holderMark   = "@"
	holderDigits = 16
)

// Held returns the holder for an id and its credential.
func Held(id string, credential uint64) string {
	return fmt.Sprintf("%s%s%0*x", id, holderMark, holderDigits, credential)
}

// IDIn returns the id in a holder, for display.
func IDIn(holder string) string {
	at := len(holder) - holderDigits - len(holderMark)
	if at <= 0 || holder[at:at+len(holderMark)] != holderMark || strings.Trim(holder[at+len(holderMark):], "0123456789abcdef") != "" {
		return holder
	}
	return holder[:at]
}

// HolderOf returns the holder of Of(p).
func HolderOf(p *Principal) string {
	p = Of(p)
	return cmp.Or(p.Holder, p.ID)
}

// Admin is a principal's access to admin operations.
type Admin uint8

// Levels of Admin.
const (
	AdminNone Admin = iota
	AdminView       // may view status and metrics
	AdminAct        // may also change the state of the gateway
)

// Local is the principal of unauthenticated clients: those on this machine while no auth is configured, and clients on stdin.
var Local = &Principal{ID: LocalID, Name: LocalID, Via: ViaLocal, Admin: AdminAct}

// Of returns p, or Local if p is nil, as on stdio and in tests.
func Of(p *Principal) *Principal {
	if p == nil {
		return Local
	}
	return p
}

// IDOf returns the id of Of(p).
func IDOf(p *Principal) string { return Of(p).ID }

// Same reports whether two principals have the same id and credential.
func Same(a, b *Principal) bool {
	return IDOf(a) == IDOf(b) && HolderOf(a) == HolderOf(b)
}

// Alike reports whether two values of one principal are equal except for their Policy and Usage.
func Alike(a, b *Principal) bool {
	return Same(a, b) && a.Rights == b.Rights && a.Name == b.Name && a.Expires.Equal(b.Expires) && a.Admin == b.Admin &&
		(a.Projects == nil) == (b.Projects == nil) && slices.Equal(a.Projects, b.Projects)
}

// May reports whether the principal may use the project; "" = no project.
func (p *Principal) May(project string) bool {
	return p == nil || p.Projects == nil || project != "" && slices.Contains(p.Projects, project)
}

// Operates reports whether the principal may act for all users: it has AdminAct, and it is local or has roles. Without
// a policy, a key only identifies a user of the gateway.
func (p *Principal) Operates() bool {
	return p != nil && p.Admin == AdminAct && (p.ID == LocalID || p.Rights != "")
}
