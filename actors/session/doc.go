// Package session is the actor that is one client as the gateway sees it: a legacy HTTP session or the client on
// stdin and stdout. It owns the negotiated version, the client's streams, its calls and the newest Snapshot it knows,
// answers lists, names and pings by itself, and hands calls to the pool of their server. Beside it are the desk, which is
// many clients that have no session, and the listener, one stream on which such a client hears of changes.
//
// Invariants: every request gets exactly one answer; an answer never goes to another session; a change of the
// catalog is told at least once after it became visible, however often it changed meanwhile.
package session
