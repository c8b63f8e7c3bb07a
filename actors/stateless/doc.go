// Package stateless is the actor for clients without a session, whose requests are self-contained. It keeps the calls that run,
// those parked while their client answers a server request, and for a minute the outcomes that may be asked for again. Clients
// take turns in its mailbox, and each one's calls are counted by its key.
//
// Invariants: every request gets exactly one answer; a parked call is resumed only by its client, or expires; when a client
// leaves, nothing of it is kept but what it may return for.
package stateless
