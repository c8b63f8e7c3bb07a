package cli

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/program"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print version, commit and Go version",
		Args:  command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			commit := program.Commit()
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "goblin-actor %s\ncommit %s\n%s %s/%s\n",
				program.Version(), cmp.Or(commit, "unknown"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
