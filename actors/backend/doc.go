// Package backend implements the actor that owns one connection to one server: a process or a URL.
//
// It owns the connection, the server's era, the ids sent upstream and the lists being fetched. Its pool and the holders of calls see only the
// neutral messages of actors/message.
//
// Invariants:
//   - It is Ready only after this connection's handshake, and after every list was fetched to its last page. If other lists have items, a list
//     that was refused does not count; it is fetched again later.
//   - Every Send is answered by exactly one Done, Failed, NotExecuted or ConnectionLost. After Done and Failed the pool gets one CallEnded.
//   - A request that may have reached the server is never written again by itself. Exceptions: the server asked for it (input_required, or
//     headers that it refused), or the pool sends it again (ConnectionLost; retry.inFlight).
//   - A connection speaks one era. Everything known about it is one value (conn), which the next connection does not inherit.
//
// Files that belong to no era: calls, notsent, withdraw, cancelled, notifications, lists, unlisted, loops. The file era determines the era and
// recheck checks it later. Questions come from legacy servers in questions and from modern ones in rounds; the holder of a call sees no
// difference. Tasks that the gateway follows for a client are in follow (legacy) and polls (modern); tasks has those that legacy clients
// asked for. Changes reported by modern servers are in streams, listen and changes.
//
//	Idle → Connecting → Handshaking → Syncing → Ready → Draining → Stopped
//	          ▲   └────────┴────────────┴────────┘ lost
//	          └── Waiting ◀──────────────┘
package backend
