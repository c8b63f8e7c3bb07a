package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/client"
	"goblin-actor/internal/decode"
	"goblin-actor/internal/form"
	"goblin-actor/protocol"
)

// maxArguments is the maximum size of arguments read from stdin or from a file of --answer, in bytes.
const maxArguments = 64 << 20

// NewCall returns the call command.
func NewCall() *cobra.Command {
	var gateway gatewayFlags
	var out output.Format
	var asked answerer
	var given string
	cmd := &cobra.Command{
		Use:   "call TOOL [key=value…]",
		Short: "Call a tool",
		Long: `Call a tool and print its result. Values are converted to the types in the tool's schema: write numbers and booleans as they
are, and arrays and objects as JSON; everything else is text. --json passes all arguments at once.

Progress is printed to stderr. If the result is marked as an error, it is printed and the exit code is 5.

During the call, the server may request user input (elicitation), a model's response (sampling) or roots. The command asks on
the terminal. In scripts, use --answer, --say, --root and --yes. Without a terminal, all other requests are declined
(roots: see --root). URLs to visit are printed, never opened.`,
		Example: `  goblin-actor call notes_add_note title=Errands text="buy a lantern"
  goblin-actor call clock_wait seconds=3 steps=3
  goblin-actor call notes_search_notes --json '{"query": "lantern"}'
  goblin-actor call oracle_consult --answer name=Ugg --answer topic=gold`,
		Args:              command.Args(1, -1, "a tool name"),
		ValidArgsFunction: completeCall,
		RunE: func(cmd *cobra.Command, args []string) error {
			if given != "" && len(args) > 1 {
				return command.UsageError("use only one of them", "--json and key=value cannot be combined")
			}
			pairs, err := command.ParsePairs(args[1:])
			if err != nil {
				return err
			}
			raw, err := jsonArguments(given, cmd.InOrStdin())
			if err != nil {
				return err
			}
			bar := terminal.NewProgressBar(cmd.ErrOrStderr())
			if err := asked.begin(cmd, args[0], bar); err != nil {
				return err
			}
			return gateway.answered(cmd, func(ctx context.Context, c *client.Client) error {
				if raw == nil {
					if raw, err = typedArguments(ctx, c, args[0], pairs); err != nil {
						return err
					}
				}
				return callTool(ctx, cmd, c, bar, out, args[0], raw)
			})
		},
	}
	cmd.Flags().StringVar(&given, "json", "", "all arguments as one JSON object; - reads it from stdin")
	gateway.asked = &asked
	gateway.add(cmd)
	asked.add(cmd)
	out.AddFlag(cmd)
	return cmd
}

// jsonArguments returns the JSON object of --json, or nil if the flag was not given. It reads the object from stdin if
// the value is "-".
func jsonArguments(given string, stdin io.Reader) ([]byte, error) {
	if given == "" {
		return nil, nil
	}
	raw := []byte(given)
	if given == "-" {
		var err error
		if raw, err = io.ReadAll(io.LimitReader(stdin, maxArguments+1)); err != nil {
			return nil, fmt.Errorf("read arguments: %w", err)
		}
		if len(raw) > maxArguments {
			return nil, fmt.Errorf("--json: stdin has more than %d bytes", maxArguments)
		}
	}
	var object map[string]json.RawMessage
	if err := decode.Own(raw, "--json", &object); err != nil {
		return nil, command.UsageError(`pass a JSON object, for example --json '{"key": "value"}'`, "%w", err)
	}
	return raw, nil
}

// typedArguments converts key=value pairs into the arguments of a tool, using its listed schema. If the tool is not
// listed, the types are guessed.
func typedArguments(ctx context.Context, c *client.Client, tool string, pairs []command.Pair) ([]byte, error) {
	items, err := c.List(ctx, protocol.Tools)
	if err != nil {
		return nil, err
	}
	item, ok := findItem(items, tool)
	if !ok {
		return arguments(form.Schema{}, tool, pairs)
	}
	s, err := form.ParseSchema(item.InputSchema.Of(item.Raw))
	if err != nil {
		return nil, command.Fail(command.ExitFailed, fmt.Errorf("%s: %w", terminal.OneLine(tool, meantBytes), err), "use --json to pass all arguments; they are not converted by the schema")
	}
	return arguments(s, tool, pairs)
}

// findItem finds an item by its public name, otherwise by the name that its server uses, if this is unique.
func findItem(items []protocol.Item, name string) (found protocol.Item, ok bool) {
	for _, item := range items {
		if field(item, item.Name) == name {
			return item, true
		}
	}
	count := 0
	for _, item := range items {
		if meta(item, "goblin-actor/name") == name {
			found = item
			count++
		}
	}
	return found, count == 1
}

// callTool calls the tool and prints the result.
func callTool(ctx context.Context, cmd *cobra.Command, c *client.Client, bar *terminal.ProgressBar, out output.Format, tool string, args []byte) error {
	result, err := c.Call(ctx, tool, args, bar.Show)
	if ctx.Err() != nil {
		command.BestEffort(bar.Clear)
		return err
	}
	bar.Clear()
	if err != nil {
		return err
	}
	if out == output.Table {
		err = printToolResult(cmd.OutOrStdout(), result)
	} else {
		err = out.Write(cmd.OutOrStdout(), result)
	}
	if err != nil {
		return err
	}
	var verdict struct {
		IsError bool `json:"isError"`
	}
	if json.Unmarshal(result, &verdict) == nil && verdict.IsError {
		return command.Fail(command.ExitPeerError, fmt.Errorf("%s reported an error", tool), "")
	}
	return nil
}
