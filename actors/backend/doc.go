// Package backend is the actor behind one connection to one server: a process on stdio or a URL.
//
// It owns the connection, the server's era, the ids sent upstream and the lists being fetched, and hides all of
// it: towards its pool and the holders of calls it speaks only the neutral messages of actors/message.
//
// Invariants: it is Ready only when this incarnation's handshake is done and every list was fetched to its last page, or, where
// another list has something in it, was refused and is asked for again. Every Send is answered by exactly one Done, Failed,
// Returned or Lost, and followed by one Ended to the pool after the first two. A request that may have reached the server is never
// written again, unless the server itself asked for that (input_required, or headers it refused it for), or the pool, who may find it
// another connection (Lost; retry.inFlight). One connection speaks
// one era, and all that is known of it is one value, which the next does not inherit.
//
// What belongs to no era is in calls, reach, withdraw, cancelled, notifications, lists, unlisted and loops. The file era finds
// out the era, and recheck doubts it. In questions a legacy server asks, in rounds a modern one, and to the holder of a call both
// look the same. So do tasks that are followed in a client's place, of a legacy server in follow, of a modern one in polls, while
// tasks has those that legacy clients asked for. A modern server tells of changes by the streams in streams, listen and changes.
//
//	Idle → Connecting → Handshaking → Syncing → Ready → Draining → Stopped
//	          ▲   └────────┴────────────┴────────┘ lost
//	          └── Waiting ◀──────────────┘
package backend
