package ask

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/client"
	"goblin-actor/internal/status"
)

// NewRead returns the read command.
func NewRead() *cobra.Command {
	var gateway gatewayFlags
	var out output.Format
	var asked answerer
	cmd := &cobra.Command{
		Use:   "read URI",
		Short: "Read a resource",
		Long: `Read a resource and print it. To a pipe or file, the bytes are written unchanged, including images. On a terminal, control
characters are printed as escapes, and binary content is only described.`,
		Example:           "  goblin-actor read resource://notes/note:///welcome\n  goblin-actor read resource://files/file:///logo.png > logo.png",
		Args:              command.Args(1, 1, "a resource URI"),
		ValidArgsFunction: target.CompleteItems(func(i *status.Items) []status.Item { return i.Resources }),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := asked.begin(cmd, args[0], terminal.NewProgressBar(cmd.ErrOrStderr())); err != nil {
				return err
			}
			return gateway.answered(cmd, func(ctx context.Context, c *client.Client) error {
				result, err := c.Read(ctx, args[0])
				if err != nil {
					return err
				}
				if out != output.Table {
					return out.Write(cmd.OutOrStdout(), result)
				}
				return printContents(cmd.OutOrStdout(), result, terminal.IsTerminal(cmd.OutOrStdout()))
			})
		},
	}
	gateway.asked = &asked
	gateway.add(cmd)
	asked.add(cmd)
	out.AddFlag(cmd)
	return cmd
}

// printContents prints the contents of a resource: escaped and in lines for a terminal, otherwise unchanged.
func printContents(w io.Writer, raw []byte, onTerminal bool) error {
	var result struct {
		Contents []block `json:"contents"`
	}
	if err := readResult(raw, &result); err != nil {
		return err
	}
	for _, b := range result.Contents {
		var err error
		switch {
		case onTerminal:
			err = printLines(w, b.String())
		case b.Blob != nil:
			var data []byte
			if data, err = base64.StdEncoding.DecodeString(*b.Blob); err != nil {
				return fmt.Errorf("the blob of %s is not valid base64", terminal.OneLine(b.URI, meantBytes))
			}
			_, err = w.Write(data)
		case b.Text != nil:
			_, err = io.WriteString(w, *b.Text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
