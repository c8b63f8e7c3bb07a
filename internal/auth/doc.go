// Package auth finds out who a client is: API keys out of a watched file, the word of trusted proxies about whom they ask for,
// and what to answer those who are not let in. It implements downstream.Admission.
//
// Ownership: a Gate has the newest keys as an immutable set that requests read; whoever calls Configure, Reload or Close changes it,
// one after the other. What a principal has under way is counted at its key, and outlives a reload.
//
// Invariants: a key is found by the hash of the whole of it, never by a part; a key file that cannot be read changes nothing; what
// strangers send allocates nothing that stays, but for one entry a network in a table of bounded size.
package auth
