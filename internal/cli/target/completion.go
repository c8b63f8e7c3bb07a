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

// completionTime limits a completion request, since the shell waits for it.
const completionTime = 500 * time.Millisecond

// CompleteServers completes the names of the running gateway's servers.
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

// CompleteItems completes the public names of the running gateway's items. pick selects the items to complete.
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

// RunningItems returns the items of the gateway that the command uses.
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

// NoCompletion returns no completions. It passes the reason to the shell: bash and zsh show it below the command line.
func NoCompletion(err error) ([]string, cobra.ShellCompDirective) {
	text := err.Error()
	if e, ok := errors.AsType[*command.Error](err); ok && e.Hint != "" {
		text += ": " + strings.Join(strings.Fields(e.Hint), " ")
	}
	return cobra.AppendActiveHelp(nil, terminal.OneLine(text, 300)), cobra.ShellCompDirectiveNoFileComp
}
