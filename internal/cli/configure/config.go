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

// NewConfigCommand returns the config command. None of its subcommands starts a server.
func NewConfigCommand() *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "config",
		Short: "Check, show, import or install a configuration",
		Long: `Check or show a configuration, import servers from desktop clients, or install the gateway in a desktop client.

Without FILE, the commands use the file that serve would use: $GOBLIN_CONFIG, ./goblin.yaml, or goblin-actor/config.yaml in
the user's configuration directory.`,
	})
	cmd.AddCommand(
		ofFile(&cobra.Command{
			Use:     "check [FILE]",
			Short:   "List all errors and warnings in a configuration file; exit code 3 on errors",
			Example: "  goblin-actor config check claude_desktop_config.json",
		}, checkConfig),
		ofFile(&cobra.Command{
			Use:   "show [FILE]",
			Short: "Print the effective configuration and the origin of each value, without secrets",
			Long: `Print the effective values as a configuration file, each with its origin: default, or file:line.

Variables are printed as ${NAME} with a note on whether they are set, never with their values. Other values in env and headers
are redacted.`,
		}, showConfig),
		newConfigSchema(),
		newConfigImport(),
		newConfigInstall(),
	)
	return cmd
}

// ofFile makes cmd a command for one configuration file: the one in its argument or --config, otherwise the one that
// serve would use. run gets "" if there is none.
func ofFile(cmd *cobra.Command, run func(cmd *cobra.Command, path string) error) *cobra.Command {
	var flag string
	cmd.Flags().StringVar(&flag, "config", "", configfile.FlagHelp)
	cmd.Args = command.Args(0, 1, "one file")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 0 && flag != "" && args[0] != flag:
			return command.UsageError("use only one of them", "%s takes one file; got an argument and --config", cmd.CommandPath())
		case len(args) > 0:
			return run(cmd, args[0])
		}
		path, _ := config.Find(flag, os.Getenv)
		return run(cmd, path)
	}
	return cmd
}

// checkConfig prints the findings about the file. It also checks the key file and the certificate that the file names.
func checkConfig(cmd *cobra.Command, path string) error {
	if path == "" {
		return command.Fail(command.ExitFailed, errors.New("no configuration found"), "specify a file: "+cmd.CommandPath()+" FILE")
	}
	cfg, report := config.Load(path)
	if cfg != nil && !serving.MetricsVisible(cfg) {
		report.Warnings = append(report.Warnings, serving.HiddenMetrics(cfg))
	}
	configfile.PrintFindings(cmd.ErrOrStderr(), report)
	if cfg == nil {
		return &command.Error{Code: command.ExitConfig} // the errors have been printed
	}
	if err := serving.CheckFiles(cfg); err != nil {
		return configfile.CredentialsError(err)
	}
	invalid := ""
	for _, server := range cfg.Servers {
		if server.Fault != "" {
			invalid += ", " + server.Name
		}
	}
	if invalid != "" {
		invalid = " (misconfigured: " + terminal.OneLine(invalid[2:], 200) + ")"
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: ok, %s%s, %s\n", terminal.Clean(path), terminal.Count(len(cfg.Servers), "server"), invalid, terminal.Count(len(report.Warnings), "warning"))
	return err
}

// showConfig prints the effective configuration, or the defaults if there is no file.
func showConfig(cmd *cobra.Command, path string) error {
	if path == "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "no configuration found; these are the defaults")
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
