package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/config"
)

// newEnable and newDisable return the commands that switch servers and tools in the configuration.
func newEnable() *cobra.Command {
	return newSwitch("enable", "Switch a server or one of its tools on", false)
}
func newDisable() *cobra.Command {
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
		Args:              takes(1, 1, "a server, or a server and a tool"),
		ValidArgsFunction: completeServers(new(string)),
		RunE: func(cmd *cobra.Command, args []string) error {
			server, tool, isTool := strings.Cut(args[0], "/")
			if server == "" || isTool && tool == "" {
				return usageError("usage: "+cmd.UseLine(), "%q is neither SERVER nor SERVER/TOOL", args[0])
			}
			f, err := openOwn(path, false)
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
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is %sd already\n", clean(args[0]), verb)
				return err
			case err != nil:
				return editError(cmd, f, err)
			}
			return changeOwn(cmd, f, text, verb+"d "+args[0]+" in", &then, wish{server: server, tool: tool, runs: !off})
		},
	}
	cmd.Flags().StringVar(&path, "config", "", configFlagHelp)
	then.flags(cmd)
	return cmd
}
