// Package store is the actor that owns the state file. The file keeps the servers' eras and catalogs, logins and the
// sealing key across restarts. All of it can be obtained or created again, so an error of the file never stops the
// gateway: if another process has locked the file or it cannot be read or written, the state stays in memory; a file that is
// damaged, belongs to another program or was sealed with a lost master key is renamed. Each case is logged.
//
// The actor owns the open file and the pending changes; the gateway and the pools have copies. Invariants:
//   - The gateway receives StateLoaded exactly once, within 2 s, however slow the disk is. The sealing key in it does not change
//     until the process ends.
//   - At most one write is in progress.
//   - Changes made before the stop are written before the system has stopped, if the file is writable.
//
// Example:
//
//	ref := store.Spawn(self, store.Options{Path: "/home/u/.local/state/goblin-actor/state.db", Gateway: gateway, Log: log})
//	ref.Tell(message.RememberEra{Server: id, Known: message.KnownEra{Era: protocol.EraModern, At: now}})
package store
