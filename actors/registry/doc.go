// Package registry is the actor that merges the servers' catalogs. It collects what the pools learned from their servers, builds
// the next catalog.Snapshot and publishes it to its subscribers. There is one registry; no call passes through it.
//
// The registry owns the servers' lists and rules, the newest Snapshot and the list of subscribers. Invariants:
//   - A change is published at once, or 250 ms after clients were last notified. A burst causes two publications, and the last
//     change is always published. Changes of the naming and of the projects are published without delay. The first lists of a new
//     server are published earlier, too, but clients are notified of them after those 250 ms.
//   - No Snapshot is published before the servers expected at the start have reported their cached catalogs, or 1 s has passed.
//   - A subscriber receives the current Snapshot first, and never an older one after a newer one.
//   - An announced change (list_changed) counts even if the list is equal. A list that was not announced counts only if it differs.
//   - The difference between consecutive snapshots is recorded (status.CatalogChanges). The log gets a summary at most every 5 s.
//   - The items of a disabled server are removed; those of a disconnected one stay.
//
// Example:
//
//	ref := registry.Spawn(self, registry.Options{Naming: catalog.Naming{…}, Changes: changes, Log: log})
//	ref.Tell(message.SetServerRules{Server: catalog.Server{Name: "files", Pool: pool}})
//	ref.Tell(message.ServerCatalog{Server: "files", Kind: protocol.Tools, Items: items})
//	ref.Tell(message.Subscribe{From: session}) // receives message.Published now and after each change
package registry
