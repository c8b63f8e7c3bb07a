package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/config"
	"goblin-actor/internal/secret"
)

// newRoot returns the whole command tree. A new command is one more line here.
func newRoot() *cobra.Command {
	root := group(&cobra.Command{
		Use:   "goblin-actor",
		Short: "One endpoint over many MCP servers",
		Long: `goblin-actor is a gateway for the Model Context Protocol (MCP): it puts the tools, prompts and resources
of many MCP servers behind one endpoint.

Exit codes: 0 ok, 1 failed, 2 wrong usage, 3 invalid config, 4 not reachable, 5 answered with an error,
130 interrupted.`,
		Version:       buildVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
	})
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(helpHint(cmd), "%s", secret.Text(err.Error()))
	})
	root.AddCommand(
		newServe(),
		newStdio(),
		newList(),
		newCall(),
		newDescribe(),
		newRead(),
		newPrompt(),
		newWatch(),
		newStatus(),
		newLogs(),
		newCalls(),
		newAudit(),
		newTUI(),
		newDoctor(),
		newLint(),
		newKeyCommand(),
		newAdd(),
		newRemove(),
		newEnable(),
		newDisable(),
		newLogin(),
		newLogout(),
		newRestart(),
		newDrain(),
		newBenchCommand(),
		newDemo(),
		newConfigCommand(),
		newPolicyCommand(),
		newMigrate(),
		newVersion(),
	)
	completions(root)
	fitHelp(root)
	return root
}

// group makes cmd a command that only holds others: alone it prints its help, with an unknown word it fails
// with the nearest command as a hint.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		hint := helpHint(cmd)
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			hint = fmt.Sprintf("did you mean %q?", cmd.CommandPath()+" "+cmp.Or(config.Nearest(args[0], near), near[0]))
		}
		return usageError(hint, "unknown command %q for %q", secret.Argument(args[0]), cmd.CommandPath())
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.SuggestionsMinimumDistance = 2
	return cmd
}

func helpHint(cmd *cobra.Command) string {
	return fmt.Sprintf("%q shows what it takes", cmd.CommandPath()+" --help")
}

// takes checks the number of arguments: least at least and, unless most is negative, most at most.
// what names them in the message, as in "a tool's name".
func takes(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usageError("usage: "+cmd.UseLine(), "%s needs %s", cmd.CommandPath(), what)
		case most == 0 && len(args) > 0:
			return usageError("usage: "+cmd.UseLine(), "%s takes no arguments, got %q", cmd.CommandPath(), secret.Argument(args[0]))
		case most >= 0 && len(args) > most:
			return usageError("usage: "+cmd.UseLine(), "%s takes %s, got also %q", cmd.CommandPath(), what, strings.Join(secret.Arguments(args[most:]), " "))
		}
		return nil
	}
}
