// Package config is the configuration file: found, parsed, completed with defaults, compared with the one in force,
// and shown with the origin of every value.
//
//	path, ok := config.Find(flag, os.Getenv)
//	cfg, report := config.Load(path)
//	if err := report.Err(); err != nil {
//		return err // every fault of the file, one a line: goblin.yaml:3:5: mcpServers.files.timout: unknown key
//	}
//	changes := config.Diff(running, cfg)
//
// The way of a file: bytes become text and are measured (source.go), goccy/go-yaml makes a syntax tree of it, which we
// turn into our own small tree with positions, aliases and merge keys resolved (tree.go), and that is read along the tags
// of the struct types (types.go, decode.go). We walk the tree ourselves because the library's strict decoding stops at
// the first fault, and because it would turn 1.10 into 1.1 where a program wants its argument as it was written.
//
// Invariants: a Config exists only when there is no fault. What the file breaks is a fault of the file; what the
// environment breaks (a missing variable, or one with a value that does not fit) is the fault of the one server, which
// is misconfigured then while the rest runs. No message holds the value of a variable, an env entry or a header.
//
// The package holds no state and starts nothing; its functions may be called from any goroutine. A Config is a value
// like any other: nobody writes to it once Parse has returned it.
package config

//go:generate go run ./docgen ../../docs/config.md
