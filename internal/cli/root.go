package cli

import (
	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/access"
	"goblin-actor/internal/cli/ask"
	"goblin-actor/internal/cli/benchmark"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configure"
	"goblin-actor/internal/cli/doctor"
	"goblin-actor/internal/cli/operate"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/serve"
	"goblin-actor/internal/cli/service"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/secret"
)

// NewRoot returns the tree of commands. A new command also needs its name in program.CommandNames.
func NewRoot() *cobra.Command {
	root := command.Group(&cobra.Command{
		Use:   "goblin-actor",
		Short: "One endpoint for many MCP servers",
		Long: `goblin-actor is a gateway for the Model Context Protocol (MCP). It offers the tools, prompts and resources of many MCP servers
at one endpoint.

Exit codes: 0 success, 1 failure, 2 invalid usage, 3 invalid configuration, 4 gateway not reachable, 5 error response,
130 interrupted.`,
		Version:       program.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	})
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return command.UsageError(command.HelpHint(cmd), "%s", secret.Text(err.Error()))
	})
	root.AddCommand(
		serve.NewServe(access.Explain),
		serve.NewStdio(),
		service.NewCommand(),
		ask.NewList(),
		ask.NewCall(),
		ask.NewDescribe(),
		ask.NewRead(),
		ask.NewPrompt(),
		ask.NewWatch(),
		operate.NewStatus(),
		operate.NewHealth(),
		operate.NewLogs(),
		operate.NewCalls(),
		access.NewAudit(),
		operate.NewTUI(access.Explain),
		doctor.NewCommand(),
		configure.NewLint(),
		access.NewKeyCommand(),
		access.NewClusterCommand(),
		configure.NewAdd(),
		configure.NewRemove(),
		configure.NewEnable(),
		configure.NewDisable(),
		access.NewLogin(),
		access.NewLogout(),
		operate.NewRestart(),
		operate.NewDrain(),
		benchmark.NewCommand(),
		serve.NewDemo(),
		configure.NewConfigCommand(),
		access.NewPolicyCommand(),
		configure.NewMigrate(),
		newVersion(),
	)
	terminal.FitHelp(root)
	return root
}
