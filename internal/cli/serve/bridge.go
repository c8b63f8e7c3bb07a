package serve

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/client"
	"goblin-actor/internal/config"
	"goblin-actor/internal/serving"
)

// bridgeFlags are the flags of stdio for connecting to a running gateway.
type bridgeFlags struct {
	connect, project string
	shown            target.KeyFlag
	key              string // the key that shown selects; set by check
}

func (f *bridgeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.connect, "connect", "", "connect to a running gateway: URL, host:port or port")
	target.ProjectFlag(cmd, &f.project)
	f.shown.AddFlags(cmd)
}

// check validates the flags. path is the value of --config.
func (f *bridgeFlags) check(cmd *cobra.Command, path string) error {
	if err := target.CheckProject(cmd, f.project); err != nil {
		return err
	}
	switch {
	case f.connect == "":
		if f.shown.Given() {
			return command.UsageError("add --connect, or omit them", "--key-file and --plain-http require --connect")
		}
		return nil
	case path != "":
		return command.UsageError("use only one of them", "--connect and --config cannot be combined")
	}
	at, err := client.EndpointOf(f.connect, f.project)
	if err != nil {
		return command.UsageError("pass a port, an address or a URL: --connect 8730, --connect host:8730 or --connect http://host:8730/mcp", "--connect: %w", err)
	}
	f.key, err = f.shown.ForGateway(at, os.Getenv, cmd.ErrOrStderr())
	return err
}

// bridge connects the client to a running gateway until the client's input ends or a signal arrives. Neither is an error.
func bridge(cmd *cobra.Command, to bridgeFlags) error {
	ctx, stop := command.Interruptible(cmd)
	defer stop()
	log := serving.NewLogger(config.Default().Log, nil, cmd.ErrOrStderr())
	err := client.Bridge(ctx, to.connect, to.project, to.key, cmd.InOrStdin(), cmd.OutOrStdout(), log)
	if errors.Is(err, error(command.ErrInterrupted)) {
		return nil
	}
	return err
}
