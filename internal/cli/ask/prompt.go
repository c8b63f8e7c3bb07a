package ask

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/client"
	"goblin-actor/internal/decode"
	"goblin-actor/internal/form"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// NewPrompt returns the prompt command.
func NewPrompt() *cobra.Command {
	var gateway gatewayFlags
	var out output.Format
	var asked answerer
	cmd := &cobra.Command{
		Use:               "prompt NAME [key=value…]",
		Short:             "Get a prompt",
		Long:              "Get a prompt and print its messages with their roles. Arguments of prompts are strings.",
		Example:           "  goblin-actor prompt notes_summarize_notes style=brief",
		Args:              command.Args(1, -1, "a prompt name"),
		ValidArgsFunction: target.CompleteItems(func(i *status.Items) []status.Item { return i.Prompts }),
		RunE: func(cmd *cobra.Command, args []string) error {
			pairs, err := command.ParsePairs(args[1:])
			if err != nil {
				return err
			}
			if err := asked.begin(cmd, args[0], terminal.NewProgressBar(cmd.ErrOrStderr())); err != nil {
				return err
			}
			return gateway.answered(cmd, func(ctx context.Context, c *client.Client) error {
				raw, err := promptArguments(ctx, c, args[0], pairs)
				if err != nil {
					return err
				}
				result, err := c.Prompt(ctx, args[0], raw)
				if err != nil {
					return err
				}
				if out != output.Table {
					return out.Write(cmd.OutOrStdout(), result)
				}
				return printPrompt(cmd.OutOrStdout(), result)
			})
		},
	}
	gateway.asked = &asked
	gateway.add(cmd)
	asked.add(cmd)
	out.AddFlag(cmd)
	return cmd
}

// promptArguments checks the pairs against the declared arguments and returns them as JSON. It does not check the
// arguments of a prompt that is not listed. MCP 2025-11-25, server/prompts.
func promptArguments(ctx context.Context, c *client.Client, name string, pairs []command.Pair) ([]byte, error) {
	items, err := c.List(ctx, protocol.Prompts)
	if err != nil {
		return nil, err
	}
	var declared struct {
		Arguments []promptArgument `json:"arguments"`
	}
	item, known := findItem(items, name)
	if known {
		if err := decode.JSON(item.Raw, "the definition of "+terminal.OneLine(name, meantBytes), &declared); err != nil {
			return nil, err
		}
		s := form.Schema{Properties: map[string]form.Schema{}}
		for _, a := range declared.Arguments {
			s.Properties[a.Name] = form.Schema{Type: form.Words{"string"}, Description: a.Description}
			if a.Required {
				s.Required = append(s.Required, a.Name)
			}
		}
		return arguments(s, name, pairs)
	}
	given := map[string]string{}
	for _, p := range pairs {
		given[p.Key] = p.Value
	}
	return json.Marshal(given)
}

// printPrompt prints the messages, each under its role.
func printPrompt(w io.Writer, raw []byte) error {
	var result struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := readResult(raw, &result); err != nil {
		return err
	}
	p := terminal.PaletteFor(w)
	parts := []string{}
	for _, m := range result.Messages {
		parts = append(parts, p.Bold(terminal.OneLine(m.Role, 40)+":")+"\n"+strings.TrimRight(strings.Join(blocks(m.Content), "\n"), "\n"))
	}
	return printLines(w, strings.Join(parts, "\n\n"))
}

// blocks formats a message's content, which is a block or an array of blocks.
func blocks(raw json.RawMessage) []string {
	var many []block
	if json.Unmarshal(raw, &many) != nil {
		many = make([]block, 1)
		if json.Unmarshal(raw, &many[0]) != nil {
			return []string{"(unreadable)"}
		}
	}
	texts := make([]string, len(many))
	for i, b := range many {
		texts[i] = b.String()
	}
	return texts
}
