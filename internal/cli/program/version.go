package program

import (
	"runtime/debug"
)

// version is set by the linker: -ldflags "-X goblin-actor/internal/cli/program.version=v0.1.0". If it is empty, the build
// information is used.
var version string

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

// Commit returns the revision from which this binary was built, with "+dirty" if files differed from it, or "" if it is unknown.
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + dirty
}
