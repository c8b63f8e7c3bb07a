// Package session is the actor that is one client as the gateway sees it: a legacy session over HTTP, or the client on
// stdin and stdout. It owns the negotiated version, the client's streams, its calls and the newest snapshot it knows,
// answers lists, names and pings by itself, and hands calls to the pool of their server.
//
// Invariants: every request gets exactly one answer; an answer never goes to another session; a change of the
// catalog is told at least once after it became visible, however often it changed meanwhile.
package session
