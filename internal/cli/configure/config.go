package configure

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
	"goblin-actor/internal/serving"
)

// NewConfigCommand returns the commands about configuration files; none of them runs a server.
func NewConfigCommand() *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "config",
		Short: "Check or show the configuration, connect it with other programs' files",
		Long: `Check or show the configuration. Without FILE it is the one serve would take: $GOBLIN_CONFIG,
./goblin.yaml, or goblin-actor/config.yaml in the user's config directory.`,
	})
	cmd.AddCommand(
		ofFile(&cobra.Command{
			Use:     "check [FILE]",
			Short:   "List every fault and warning of the file; exit code 3 if there is a fault",
			Example: "  goblin-actor config check claude_desktop_config.json",
		}, checkConfig),
		ofFile(&cobra.Command{
			Use:   "show [FILE]",
			Short: "Print the values in force, each with its origin; secrets stay hidden",
			Long: `Print the values in force as a configuration file, each with its origin: default, or file:line.
Variables are shown as ${NAME} and whether they are set, never what they hold; other values of env and
headers are hidden.`,
		}, showConfig),
		newConfigSchema(),
		newConfigImport(),
		newConfigInstall(),
	)
	return cmd
}

// ofFile makes cmd a command about one configuration: its argument, --config, or the one serve would take; run gets "" when
// there is none.
func ofFile(cmd *cobra.Command, run func(cmd *cobra.Command, path string) error) *cobra.Command {
	var flag string
	cmd.Flags().StringVar(&flag, "config", "", configfile.FlagHelp)
	cmd.Args = command.Args(0, 1, "one file")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 0 && flag != "" && args[0] != flag:
			return command.UsageError("give one of them", "%s takes one file, got an argument and --config", cmd.CommandPath())
		case len(args) > 0:
			return run(cmd, args[0])
		}
		path, _ := config.Find(flag, os.Getenv)
		return run(cmd, path)
	}
	return cmd
}

func checkConfig(cmd *cobra.Command, path string) error {
	if path == "" {
		return command.Fail(command.ExitFailed, errors.New("no configuration found"), "name a file: "+cmd.CommandPath()+" FILE")
	}
	cfg, report := config.Load(path)
	if cfg != nil && !serving.MetricsVisible(cfg) {
		report.Warnings = append(report.Warnings, serving.HiddenMetrics(cfg))
	}
	configfile.PrintFindings(cmd.ErrOrStderr(), report)
	if cfg == nil {
		return &command.Error{Code: command.ExitConfig} // all has been said
	}
	if err := serving.CheckFiles(cfg); err != nil {
		return configfile.CredentialsError(err)
	}
	ill := ""
	for _, server := range cfg.Servers {
		if server.Fault != "" {
			ill += ", " + server.Name
		}
	}
	if ill != "" {
		ill = " (misconfigured: " + terminal.OneLine(ill[2:], 200) + ")"
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: ok, %s%s, %s\n", terminal.Clean(path), terminal.Count(len(cfg.Servers), "server"), ill, terminal.Count(len(report.Warnings), "warning"))
	return err
}

func showConfig(cmd *cobra.Command, path string) error {
	if path == "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "no configuration found: these are the defaults")
		defaults := config.Default()
		return config.Show(cmd.OutOrStdout(), &defaults, config.Report{})
	}
	cfg, report := config.Load(path)
	configfile.PrintFindings(cmd.ErrOrStderr(), report)
	if cfg == nil {
		return &command.Error{Code: command.ExitConfig}
	}
	return config.Show(cmd.OutOrStdout(), cfg, report)
}
