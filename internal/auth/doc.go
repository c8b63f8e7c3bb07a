// Package auth identifies clients. It reads API keys from a file, accepts client addresses from trusted proxies, and
// answers requests that are refused. It implements downstream.Admission.
//
// Ownership: a Gate holds the current keys as an immutable set that requests read. Configure and Reload replace the
// set. They and Close exclude each other. The counts of a principal's open requests belong to its key and survive a
// reload.
//
// Invariants: a key is found by the hash of its full text, never by a part. If the key file cannot be read, the keys do
// not change; if it is a newly configured file, no key is accepted. Unauthenticated requests allocate nothing permanent
// except one entry per network in a table of bounded size.
package auth
