// Package catalog builds the merged catalog of all servers under public names: an immutable Snapshot, and the Views of it that
// clients see. The package is pure; the registry actor owns the newest Snapshot.
//
// Sources (the servers' lists) are parsed into items (parse.go), which get public names (names.go, uris.go) and
// rewritten JSON (rewrite.go). They are collected in a View (view.go) with its lists (page.go) and tables (lookup.go,
// resolve.go). Parts that have not changed since the previous Snapshot are reused.
//
// Invariants:
//   - A public name or URI belongs to one item. Public names are looked up in tables, never split.
//   - An item hidden by filters cannot be found by any spelling. It keeps its name, so no other item gets that name.
//   - In namespace mode "always", appending a server to the configuration changes no existing name.
//   - Returned bytes are shared and must not be modified.
//
// Example:
//
//	next := catalog.Build(previous, sources, naming)
//	view, _ := next.View(catalog.Key{})
//	page, fault := view.Page(protocol.Tools, era, cursor)
//	entry, fault := view.Tool("files_read_file") // entry.Server.Pool receives the call, under the name entry.Original
package catalog
