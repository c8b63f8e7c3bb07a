package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/program"
)

// build describes the binary in JSON and YAML.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"` // revision, with "+dirty" if files differed from it; "" = unknown
	Date    string `json:"date"`   // time of the commit in RFC 3339; "" = unknown
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func newVersion() *cobra.Command {
	var out output.Format
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, commit, commit date, Go version and platform",
		Args:  command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := build{program.Version(), program.Commit(), program.Date(), runtime.Version(), runtime.GOOS, runtime.GOARCH}
			if out == output.Table {
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "goblin-actor %s\ncommit %s\ndate %s\n%s %s/%s\n",
					b.Version, cmp.Or(b.Commit, "unknown"), cmp.Or(b.Date, "unknown"), b.Go, b.OS, b.Arch)
				return err
			}
			raw, err := json.Marshal(b)
			if err != nil {
				return err
			}
			return out.Write(cmd.OutOrStdout(), raw)
		},
	}
	out.AddFlag(cmd)
	return cmd
}
