package ask

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/status"
)

// completeCall completes a tool's name, then the names of its arguments.
func completeCall(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	tools := func(i *status.Items) []status.Item { return i.Tools }
	if len(args) == 0 {
		return target.CompleteItems(tools)(cmd, args, word)
	}
	items, err := target.RunningItems(cmd)
	if err != nil {
		return target.NoCompletion(err)
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
			break // the definition is truncated
		}
		var words []string
		for _, name := range slices.Sorted(maps.Keys(t.InputSchema.Properties)) {
			words = append(words, name+"=")
		}
		return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}
