// Package catalog is what all servers offer together under its public names: an immutable Snapshot and the
// Views of it that clients see. Everything in here is pure; the registry actor owns the newest Snapshot.
//
// Sources (what each server gave) become parsed items (parse.go), get public names (names.go, uris.go), are
// rewritten by splices (rewrite.go) and end up in a View (view.go) with its lists (page.go) and tables
// (lookup.go, resolve.go). What has not changed since the previous Snapshot is taken over, not made again.
//
// Invariants:
//   - a public name or URI belongs to one item; names are looked up in tables, never split;
//   - an item that filters hide keeps its name, so that no other item moves into it, and is found by no spelling;
//   - in namespace mode always no name changes because a server was appended to the configuration;
//   - bytes handed out are shared and never written to.
//
// Example:
//
//	next := catalog.Build(previous, sources, naming)
//	view, _ := next.View(catalog.Key{})
//	page, fault := view.Page(protocol.Tools, era, cursor)
//	entry, fault := view.Tool("files_read_file") // entry.Server.Pool takes the call, under the name entry.Original
package catalog
