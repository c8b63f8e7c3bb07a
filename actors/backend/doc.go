// Package backend implements the actor that owns one connection to one server: a process or a URL.
//
// It owns the connection, the server's era, the ids sent upstream and the lists being fetched. Its pool and the holders
// of calls see only the messages of actors/message, which do not depend on the era.
//
// Invariants:
//   - It is Ready only after this connection's handshake, and after every list that it needs has been fetched, to the last
//     page or the limit (lists.go). A list that could not be fetched is fetched again later, and does not delay Ready if
//     other lists have items.
//   - Every Send is answered by exactly one Done, Failed, NotExecuted or ConnectionLost, unless its call is canceled. With
//     each Done, Failed and cancellation, the pool gets one CallEnded.
//   - A request that may have reached the server is not sent again by the backend itself, unless the server's response
//     requires it (input_required, refused headers, a required extension, or a lost session). The pool may send it again
//     (ConnectionLost; retry.inFlight).
//   - A connection speaks one era. Everything known about it is one value (conn), which the next connection does not
//     inherit.
//
// Most files are for both eras. The era is determined in era.go and checked again later in recheck.go. Questions of
// legacy servers are handled in questions.go and cancel_questions.go, those that modern servers ask legacy clients in
// rounds.go. The holder of a legacy client's call sees no difference. Tasks that the gateway follows for a client are
// handled in follow.go and follow_verify.go (legacy) and polls.go (modern). Tasks that legacy clients requested are
// handled in tasks.go. Changes reported by modern servers are handled in streams.go, listen.go and changes.go.
//
//	Idle → Connecting → Handshaking → Syncing → Ready → Draining → Stopped
//	          ▲   └────────┴────────────┴────────┘ lost
//	          └── Waiting ◀──────────────┘
//
// If a login is missing, NeedsLogin takes the place of Waiting.
package backend
