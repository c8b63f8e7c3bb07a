// Package config finds, parses, validates, edits and compares the configuration file, and shows where each value comes from.
//
//	path, ok := config.Find(flag, os.Getenv)
//	cfg, report := config.Load(path)
//	if err := report.Err(); err != nil {
//		return err // all errors, one per line: goblin.yaml:3:5: mcpServers.files.timout: unknown key
//	}
//	changes := config.Diff(running, cfg)
//
// Loading has three steps. source.go converts the bytes to text and limits its size. tree.go converts the syntax tree of goccy/go-yaml to a
// smaller tree with positions, in which aliases and merge keys are resolved. decode.go reads that tree into the structs that declare the keys
// (keys.go). The library's own strict decoding is not used, because it stops at the first error and converts 1.10 to 1.1 where an argument
// must stay as written.
//
// Parse and Load return a Config only if the file has no errors. Inside mcpServers, a problem in the environment,
// such as a missing variable, is not an error: it makes only that server misconfigured. No message contains the value
// of a variable, an env entry or a header.
//
// The package keeps no state except caches, and starts no goroutines. Its functions may be called concurrently. A
// Config must not be modified once other goroutines use it.
package config

//go:generate go run ./docgen ../../docs/config.md
