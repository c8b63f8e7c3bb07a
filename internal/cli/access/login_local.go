package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"

	"goblin-actor/actors"
	"goblin-actor/internal/admin"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/local"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/config"
	"goblin-actor/internal/login"
	"goblin-actor/internal/serving"
)

// startForLogin starts a gateway in this process with only the named server and with the state file. The returned
// function stops it. If a running gateway uses the configuration, startForLogin returns an error.
func startForLogin(ctx context.Context, f *loginFlags, server string, errOut io.Writer) (login.Service, func(), error) {
	cfg, err := configfile.Load(f.config, errOut)
	if err != nil {
		return nil, nil, err
	}
	if cfg == nil || !slices.ContainsFunc(cfg.Servers, func(s config.Server) bool { return s.Name == server }) {
		return nil, nil, command.Fail(command.ExitFailed, login.ErrNoServer, "define the server under mcpServers in the configuration")
	}
	if err := checkNoGateway(ctx, cfg.Path); err != nil {
		return nil, nil, err
	}
	cfg.Servers = slices.DeleteFunc(cfg.Servers, func(s config.Server) bool { return s.Name != server })
	known := serving.Redactor(cfg)
	log := slog.New(slog.NewTextHandler(known.Writer(errOut), &slog.HandlerOptions{Level: slog.LevelError}))
	state := serving.StatePath(f.stateDir, log)
	g, err := actors.Start(cfg, actors.Options{Version: program.Version(), Log: log, State: state, Master: serving.MasterKey(state, log), Secrets: known})
	if err != nil {
		return nil, nil, err
	}
	end := func() { local.Stop(g, known.Writer(errOut)) }
	if err := local.WaitReady(ctx, g, io.Discard); err != nil { // afterwards the gateway knows whether the server needs a login
		end()
		return nil, nil, err
	}
	return serving.LocalLogins(g, known), end, nil
}

// checkNoGateway returns an error if a running gateway uses the file, because it would not notice the login.
func checkNoGateway(ctx context.Context, path string) error {
	live, err := target.LiveSockets(os.Getenv)
	if err != nil {
		return nil // no gateway runs
	}
	for _, socket := range live {
		ctx, cancel := context.WithTimeout(ctx, target.RequestTimeout)
		s, err := admin.Fetch(ctx, socket)
		cancel()
		if err == nil && s.Config != "" && s.Config == configfile.Absolute(path) {
			return command.Fail(command.ExitFailed, errors.New("a running gateway uses this file"),
				fmt.Sprintf("use --connect %s instead of --config, so that the running gateway notices the change", target.Port(socket)))
		}
	}
	return nil
}
