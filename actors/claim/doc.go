// Package claim lets the nodes of a cluster share a value that only one of them may replace at a time: a login whose
// refresh token must not be used twice. The value is in a record that changes by compare-and-swap (see [Store]).
//
// A node that wants to renew the value writes a claim into the record. Then it has until [Claimed].Until to obtain the new
// value, and writes it. A claim whose node has ended blocks the others only for a time: a node that has seen a claim
// unchanged for 45 s contests it by a write, and takes it over if the record is still unchanged 15 s later. A claimant that
// is alive overwrites the contest. So a claimant that could not write because the voters were unavailable has 15 s after
// they are available again.
//
//	             Want                 written                 Done, GiveUp
//	(no claim) ──────▶ write a claim ─────────▶ claim is held ─────────────▶ write the value
//	                        │ another claim       ▲
//	                        ▼                     │ unchanged for 15 s
//	                 wait, up to 45 s ──▶ contest it
//
// Claims is a pure state machine: it has no clock, goroutine or connection. The caller performs the [Get], [Put] and [Wake]
// that it returns, and reports their results to Step.
//
// # Invariants
//
//   - At most one Get or Put is in progress.
//   - Claimed is returned only right after a Put of the claim has succeeded, and names a time at most 25 s after that Put was
//     sent. No other node takes the claim over within 60 s.
//   - No two clocks are compared. The age of a claim is the time since this node has first seen that revision of the record.
//   - After an unknown result of a Put, Claims reads the record and recognizes its own write by its tag.
//   - A value that was obtained under a claim replaces the value that was claimed, and no other.
package claim
