package program

import (
	"runtime/debug"
)

// The linker sets these in releases: -ldflags "-X goblin-actor/internal/cli/program.version=v0.1.0". If one is empty, the
// build information is used instead.
var (
	version string
	commit  string
	date    string // time of the commit in RFC 3339
)

// Version returns the version set by the linker, otherwise the module's version, otherwise "devel".
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// Commit returns the revision from which this binary was built, with "+dirty" if the working tree had uncommitted
// changes. It returns "" if the revision is unknown.
func Commit() string {
	if commit != "" {
		return commit
	}
	revision := setting("vcs.revision")
	if revision != "" && setting("vcs.modified") == "true" {
		return revision + "+dirty"
	}
	return revision
}

// Date returns the time of the commit in RFC 3339, or "" if it is unknown.
func Date() string {
	if date != "" {
		return date
	}
	return setting("vcs.time")
}

// setting returns a value that the go command has stored in the binary, or "".
func setting(key string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
