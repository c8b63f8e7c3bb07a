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
)

// NewEnable and newDisable return the commands that switch servers and tools in the configuration.
func NewEnable() *cobra.Command {
	return newSwitch("enable", "Switch a server or one of its tools on", false)
}

func NewDisable() *cobra.Command {
	return newSwitch("disable", "Switch a server or one of its tools off", true)
}

func newSwitch(verb, short string, off bool) *cobra.Command {
	var path string
	var then applying
	cmd := &cobra.Command{
		Use:   verb + " SERVER[/TOOL]",
		Short: short + ", in the configuration",
		Long: short + `, in the configuration: disabled of the server, or its tools.disabled. A gateway that runs
with this file does it at once; the command waits for that and says what became of it. TOOL is the name the server itself
gives it, without prefix.`,
		Example:           "  goblin-actor " + verb + " files\n  goblin-actor " + verb + " files/write_file",
		Args:              command.Args(1, 1, "a server, or a server and a tool"),
		ValidArgsFunction: target.CompleteServers(new(string)),
		RunE: func(cmd *cobra.Command, args []string) error {
			server, tool, isTool := strings.Cut(args[0], "/")
			if server == "" || isTool && tool == "" {
				return command.UsageError("usage: "+cmd.UseLine(), "%q is neither SERVER nor SERVER/TOOL", args[0])
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
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is %sd already\n", terminal.Clean(args[0]), verb)
				return err
			case err != nil:
				return configfile.EditError(cmd, f, err)
			}
			return changeOwn(cmd, f, text, verb+"d "+args[0]+" in", &then, wish{server: server, tool: tool, runs: !off})
		},
	}
	cmd.Flags().StringVar(&path, "config", "", configfile.FlagHelp)
	then.flags(cmd)
	return cmd
}
