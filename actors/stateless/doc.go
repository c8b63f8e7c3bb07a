// Package stateless is the actor for clients that have no session: each request of theirs says all there is to know. A desk keeps the
// calls that run, those parked at a question to their client, and for a minute the outcomes that may be asked for again.
// Clients take turns in its mailbox, and what one may have under way is counted by its key.
//
// Invariants: every request gets exactly one answer; a call that waits for its client is taken up again by that client only,
// or expires; when a client leaves, nothing of it is kept but what it may come back for.
package stateless
