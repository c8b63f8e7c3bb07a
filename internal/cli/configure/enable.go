package configure

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
	"goblin-actor/internal/rollout"
)

// NewEnable returns the enable command.
func NewEnable() *cobra.Command {
	return newSwitch("enable", "Enable a server or one of its tools", false)
}

// NewDisable returns the disable command.
func NewDisable() *cobra.Command {
	return newSwitch("disable", "Disable a server or one of its tools", true)
}

// newSwitch returns the command enable, or disable if off is set.
func newSwitch(verb, short string, off bool) *cobra.Command {
	var path string
	var gateway rolloutFlags
	cmd := &cobra.Command{
		Use:   verb + " SERVER[/TOOL]",
		Short: short + " in the configuration",
		Long: short + ` in the configuration. This sets "disabled" of the server, or changes "tools.disabled" for a tool. A
gateway that runs with this file applies the change at once; the command waits and prints the result. TOOL is the name
that the server uses for the tool, without the prefix.`,
		Example:           "  goblin-actor " + verb + " files\n  goblin-actor " + verb + " files/write_file",
		Args:              command.Args(1, 1, "a server, or SERVER/TOOL"),
		ValidArgsFunction: target.CompleteServers(new(string)),
		RunE: func(cmd *cobra.Command, args []string) error {
			server, tool, isTool := strings.Cut(args[0], "/")
			if server == "" || isTool && tool == "" {
				return command.UsageError("usage: "+cmd.UseLine(), "%q is not SERVER or SERVER/TOOL", args[0])
			}
			f, err := configfile.Open(path, false)
			if err != nil {
				return err
			}
			var text string
			if isTool {
				text, err = config.SetToolDisabled(f.Path, f.Text, server, tool, off)
			} else {
				text, err = config.SetDisabled(f.Path, f.Text, server, off)
			}
			switch {
			case errors.Is(err, config.ErrSame):
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is already %sd\n", terminal.Clean(args[0]), verb)
				return err
			case err != nil:
				return configfile.EditError(cmd, f, err)
			}
			return gateway.save(cmd, f, text, verb+"d "+args[0]+" in", rollout.Change{Server: server, Tool: tool, Runs: !off})
		},
	}
	cmd.Flags().StringVar(&path, "config", "", configfile.FlagHelp)
	gateway.add(cmd)
	return cmd
}
