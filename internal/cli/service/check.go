package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"syscall"
	"time"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/config"
)

// checkTime limits the check of a configuration, which may read a keyring.
const checkTime = time.Minute

// checkConfiguration checks the configuration in another process, with the environment of the service. That process
// prints its findings to errOut.
func checkConfiguration(ctx context.Context, errOut io.Writer, d definition, source string) error {
	ctx, stop := context.WithTimeout(ctx, checkTime)
	defer stop()
	cmd := exec.CommandContext(ctx, d.program, "config", "check", source)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = d.environ(), errOut, errOut, time.Second
	err := cmd.Run()
	exit, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return fmt.Errorf("check the configuration: %w", err)
	case exit.ExitCode() != command.ExitConfig:
		return command.Fail(command.ExitFailed, errors.New("the configuration could not be checked; nothing was installed"), "")
	}
	return command.Fail(command.ExitConfig, errors.New("the configuration is not valid in the environment of the service; nothing was installed"),
		"correct the errors above; the service does not get the variables of this shell, so refer to secrets as ${file:PATH} or ${keyring:NAME}")
}

// checkPorts returns an error if an address of the configuration is in use.
func checkPorts(source string) error {
	cfg, _ := config.Load(source)
	if cfg == nil {
		return nil // the file was valid a moment ago, so it is being edited; the start will report its errors
	}
	for _, address := range cfg.Listen {
		l, err := net.Listen("tcp", address)
		if err == nil {
			err = l.Close()
		}
		if err == nil {
			continue
		}
		hint := ""
		if errors.Is(err, syscall.EADDRINUSE) {
			hint = "if a gateway runs there (see \"goblin-actor status\"), stop it; otherwise set `listen` to another address"
		}
		return command.Fail(command.ExitFailed, fmt.Errorf("the service could not listen on %s: %w; nothing was installed", address, err), hint)
	}
	return nil
}
