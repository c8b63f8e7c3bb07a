package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker: -ldflags "-X main.version=v0.1.0". Without it the build information tells.
var version string

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print version, commit and Go version",
		Args:  takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			commit := buildCommit()
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "goblin-actor %s\ncommit %s\n%s %s/%s\n",
				buildVersion(), cmp.Or(commit, "unknown"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// buildVersion is the version the linker was told, else the module's, else "devel".
func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// buildCommit is the revision this binary was built from, with "+dirty" when files differed from it; "" if unknown.
func buildCommit() string {
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
