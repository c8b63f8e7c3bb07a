// Package store is the actor that owns the state file: the eras of servers, logins and the sealing key, which shall survive a
// restart. Everything in it can be found out again or made anew, so no fault of the file ever stops the gateway: a
// file that another process holds or that cannot be written leaves the state in memory, one that is damaged or
// belongs to another program is set aside; each with a word in the log.
//
// The actor owns the open file and what waits to be written; the gateway and the pools own copies of what they were
// told. Invariants: StateLoaded is told to the gateway exactly once, within 2 s, whatever the disk does, and the key
// in it is the key for the life of the process; one write runs at a time; what was remembered before the stop is
// written before the system has stopped, if the file can be written at all.
//
//	ref := store.Spawn(self, store.Options{Path: "/home/u/.local/state/goblin-actor/state.db", Gateway: gateway, Log: log})
//	ref.Tell(message.RememberEra{Server: id, Known: message.KnownEra{Era: protocol.EraModern, At: now}})
package store
