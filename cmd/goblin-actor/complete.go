package main

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"goblin-actor/internal/status"
)

// completionTime is how long a shell waits for words to complete with.
const completionTime = 500 * time.Millisecond

// completeServers completes the name of a server of the running gateway; without one there is nothing to complete.
func completeServers(connect *string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		source, err := dialAdmin(*connect)
		if err != nil {
			return noWords(err)
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

// completeItems completes the public name of an item of the running gateway; pick chooses the kind.
func completeItems(pick func(*status.Items) []status.Item) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		items, err := runningItems(cmd)
		if err != nil {
			return noWords(err)
		}
		var words []string
		for _, item := range pick(items) {
			words = append(words, item.Public+"\t"+oneLine(item.Description, 60))
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// runningItems returns the items of the running gateway that the command means.
func runningItems(cmd *cobra.Command) (*status.Items, error) {
	connect := ""
	if flag := cmd.Flags().Lookup("connect"); flag != nil {
		connect = flag.Value.String()
	}
	source, err := dialAdmin(connect)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	return source.Items(ctx, 0)
}

// noWords tells the shell why there is nothing to complete with. Bash and zsh show it below the line.
func noWords(err error) ([]string, cobra.ShellCompDirective) {
	text := err.Error()
	if e, ok := errors.AsType[*exitError](err); ok && e.hint != "" {
		text += ": " + strings.Join(strings.Fields(e.hint), " ")
	}
	return cobra.AppendActiveHelp(nil, oneLine(text, 300)), cobra.ShellCompDirectiveNoFileComp
}

// completeCall completes a tool's name, then the names of its arguments.
func completeCall(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	tools := func(i *status.Items) []status.Item { return i.Tools }
	if len(args) == 0 {
		return completeItems(tools)(cmd, args, word)
	}
	items, err := runningItems(cmd)
	if err != nil {
		return noWords(err)
	}
	for _, tool := range items.Tools {
		if tool.Public != args[0] {
			continue
		}
		var t struct {
			InputSchema struct {
				Properties map[string]json.RawMessage
			}
		}
		if json.Unmarshal([]byte(tool.Raw), &t) != nil {
			break // a definition too long to be told whole
		}
		var words []string
		for _, name := range slices.Sorted(maps.Keys(t.InputSchema.Properties)) {
			words = append(words, name+"=")
		}
		return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// completions gives the commands that name something of the running gateway their words.
func completions(root *cobra.Command) {
	words := map[string]cobra.CompletionFunc{
		"call": completeCall,
		"describe": completeItems(func(i *status.Items) []status.Item {
			return slices.Concat(i.Tools, i.Prompts, i.Resources, i.Templates)
		}),
		"prompt": completeItems(func(i *status.Items) []status.Item { return i.Prompts }),
		"read":   completeItems(func(i *status.Items) []status.Item { return i.Resources }),
		"watch":  completeItems(func(i *status.Items) []status.Item { return i.Resources }),
	}
	for _, cmd := range root.Commands() {
		if f := words[cmd.Name()]; f != nil {
			cmd.ValidArgsFunction = f
		}
	}
}
