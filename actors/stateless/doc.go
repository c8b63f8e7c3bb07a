// Package stateless is the actor for clients without a session, whose requests are self-contained. It keeps the calls that run,
// those parked while their client answers a server request, and for a minute the outcomes that a retry may need again. Clients
// take turns in its mailbox, and the calls of each are counted by its client key.
//
// Invariants: every request gets exactly one answer, or none if its client cancels it; a parked call is resumed only by its
// client; after a client leaves, only what it may return for is kept.
package stateless
