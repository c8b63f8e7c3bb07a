// Package session is the actor for one legacy client: a session over HTTP, or the client on stdin and stdout. It owns the
// negotiated version, the client's streams, its calls and the newest snapshot it has received. It answers lists, unknown names
// and pings itself, and sends calls to the pool of their server.
//
// Invariants: every request gets exactly one answer, or none if its client cancels it; an answer never goes to another session;
// a client with a stream is notified after every visible change of the catalog, and several changes may share one notification.
package session
