package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"goblin-actor/internal/client"
	"goblin-actor/internal/config"
)

// bridgeFlags say that stdio has its gateway elsewhere.
type bridgeFlags struct {
	connect, project string
	shown            keyFlag
	key              string // of shown; check reads it
}

func (f *bridgeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.connect, "connect", "", "bridge to the running gateway: URL, host:port or port")
	projectFlag(cmd, &f.project)
	f.shown.add(cmd)
}

// check says what is wrong with the flags; path is that of --config.
func (f *bridgeFlags) check(cmd *cobra.Command, path string) error {
	if err := checkProject(cmd, f.project); err != nil {
		return err
	}
	switch {
	case f.connect == "":
		if f.shown.given() {
			return usageError("add --connect, or leave it out", "--key-file and --plain-http are for a gateway elsewhere")
		}
		return nil
	case path != "":
		return usageError("give one of them", "--connect and --config exclude each other")
	}
	at, err := client.EndpointOf(f.connect, f.project)
	if err != nil {
		return usageError("like --connect 8730, --connect host:8730 or --connect http://host:8730/mcp", "--connect: %w", err)
	}
	f.key, err = f.shown.forGateway(at, os.Getenv, cmd.ErrOrStderr())
	return err
}

// bridge serves the client from a running gateway until its input ends or a signal comes; both are a good end.
func bridge(cmd *cobra.Command, to bridgeFlags) error {
	ctx, stop := interruptible(cmd)
	defer stop()
	log := newLogger(config.Default().Log, nil, cmd.ErrOrStderr())
	err := client.Bridge(ctx, to.connect, to.project, to.key, cmd.InOrStdin(), cmd.OutOrStdout(), log)
	if errors.Is(err, error(errInterrupted)) {
		return nil
	}
	return err
}
