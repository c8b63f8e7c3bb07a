package command

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/config"
	"goblin-actor/internal/secret"
)

// Group makes cmd a command with subcommands only. Without arguments it prints its help. For an unknown subcommand it
// fails and suggests the nearest one.
func Group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		hint := HelpHint(cmd)
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			hint = fmt.Sprintf("did you mean %q?", cmd.CommandPath()+" "+cmp.Or(config.Nearest(args[0], near), near[0]))
		}
		return UsageError(hint, "unknown command %q for %q", secret.Argument(args[0]), cmd.CommandPath())
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.SuggestionsMinimumDistance = 2
	return cmd
}

// HelpHint returns a hint that names the help of the command.
func HelpHint(cmd *cobra.Command) string {
	return fmt.Sprintf("run %q", cmd.CommandPath()+" --help")
}

// Args returns a check of the number of arguments. The parameters least and most are the bounds; a negative most means
// no upper bound. what names the arguments in messages, for example "a tool name".
func Args(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return UsageError("usage: "+cmd.UseLine(), "%s requires %s", cmd.CommandPath(), what)
		case most == 0 && len(args) > 0:
			return UsageError("usage: "+cmd.UseLine(), "%s takes no arguments; got %q", cmd.CommandPath(), secret.Argument(args[0]))
		case most >= 0 && len(args) > most:
			return UsageError("usage: "+cmd.UseLine(), "%s takes %s; unexpected argument %q", cmd.CommandPath(), what, strings.Join(secret.Arguments(args[most:]), " "))
		}
		return nil
	}
}
