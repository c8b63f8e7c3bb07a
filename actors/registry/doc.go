// Package registry is the actor that knows who offers what: it takes what the pools learned from their servers,
// builds the next catalog.Snapshot and publishes it to everybody who subscribed. There is one; nobody asks it
// anything on the way of a call.
//
// It alone owns the servers' lists and rules, the newest Snapshot and the list of subscribers. Invariants:
//   - a change is published at once, or, when the last one is younger than 250 ms, at the end of that pause: a burst
//     makes two publications, and the last change is always in one; a reload waits for no pause;
//   - nobody gets a Snapshot before the servers that are expected at the start have said what is remembered of them;
//   - a subscriber gets the present Snapshot first and never an older one after a newer one;
//   - a server's own list_changed counts as a change even if the list is equal; a list nobody announced counts by content;
//   - whoever watches is shown each difference between two snapshots (status.CatalogChanges); the log is told of them at most every 5 s;
//   - a disabled server is unlisted; one that is merely disconnected stays.
//
// Example:
//
//	ref := registry.Spawn(self, registry.Options{Naming: catalog.Naming{…}, Changes: changes, Log: log})
//	ref.Tell(message.SetServerRules{Server: catalog.Server{Name: "files", Pool: pool}})
//	ref.Tell(message.ServerCatalog{Server: "files", Kind: protocol.Tools, Items: items})
//	ref.Tell(message.Subscribe{Who: session}) // is told message.Published now and after each change
package registry
