package message

import "goblin-actor/actors/kernel"

// LoggedIn tells backends that the login they have waited for is there: they connect now.
type LoggedIn struct{}

func (LoggedIn) Class() kernel.Class { return kernel.Outcome }

// LoggedOut tells backends that the login they use was given up. What runs on their connections ends.
type LoggedOut struct{ Reason string }

func (LoggedOut) Class() kernel.Class { return kernel.Outcome }

// LoginRefused says why a server refuses a request for its credentials. Clients may see it.
type LoginRefused struct {
	Reason string
	Scope  bool // there is a login, which does not reach as far
}

// LoginKey names a login: one of an entry of mcpServers, by name, for a lane ("" = everybody's, else a principal's id).
type LoginKey struct{ Entry, Lane string }

// LoginPhase is where a login stands.
type LoginPhase string

// The phases of a login.
const (
	LoginNone    LoginPhase = "none"    // there is none, and nobody has asked for one
	LoginNeeded  LoginPhase = "needed"  // the server wants one
	LoginPresent LoginPhase = "present" // there is one
)

// LoginChanged tells a pool what has become of one of its logins.
type LoginChanged struct {
	Login  LoginKey
	Phase  LoginPhase
	Reason string // why it is needed; clients may see it
}

func (LoginChanged) Class() kernel.Class { return kernel.Outcome }
