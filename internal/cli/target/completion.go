package target

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/status"
)

// completionTime is how long a shell waits for words to complete with.
const completionTime = 500 * time.Millisecond

// CompleteServers completes the name of a server of the running gateway; without one there is nothing to complete.
func CompleteServers(connect *string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		source, err := DialAdmin(*connect)
		if err != nil {
			return NoCompletion(err)
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		s, err := source.Status(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var words []string
		for _, server := range s.Servers {
			words = append(words, server.Name+"\t"+server.State)
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteItems completes the public name of an item of the running gateway; pick chooses the kind.
func CompleteItems(pick func(*status.Items) []status.Item) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		items, err := RunningItems(cmd)
		if err != nil {
			return NoCompletion(err)
		}
		var words []string
		for _, item := range pick(items) {
			words = append(words, item.Public+"\t"+terminal.OneLine(item.Description, 60))
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// RunningItems returns the items of the running gateway that the command means.
func RunningItems(cmd *cobra.Command) (*status.Items, error) {
	connect := ""
	if flag := cmd.Flags().Lookup("connect"); flag != nil {
		connect = flag.Value.String()
	}
	source, err := DialAdmin(connect)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	return source.Items(ctx, 0)
}

// NoCompletion tells the shell why there is nothing to complete with. Bash and zsh show it below the line.
func NoCompletion(err error) ([]string, cobra.ShellCompDirective) {
	text := err.Error()
	if e, ok := errors.AsType[*command.Error](err); ok && e.Hint != "" {
		text += ": " + strings.Join(strings.Fields(e.Hint), " ")
	}
	return cobra.AppendActiveHelp(nil, terminal.OneLine(text, 300)), cobra.ShellCompDirectiveNoFileComp
}
