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
	"goblin-actor/internal/identity"
	"goblin-actor/internal/login"
	"goblin-actor/internal/secret"
	"goblin-actor/internal/serving"
)

// localLogin is a gateway in this process, for whoever has this machine's user.
type localLogin struct {
	*actors.Gateway
	known *secret.Redactor // what its errors do not tell
}

func (g localLogin) Begin(ctx context.Context, w login.Request) (login.Started, error) {
	w.Who = identity.Local
	begun, err := g.BeginLogin(ctx, w)
	return begun, g.known.Hush(err)
}

func (g localLogin) Finish(ctx context.Context, a login.Answer) error {
	a.Who = identity.Local
	return g.known.Hush(g.FinishLogin(ctx, a))
}

func (g localLogin) Logout(ctx context.Context, w login.Request) error {
	w.Who = identity.Local
	return g.known.Hush(g.Gateway.Logout(ctx, w))
}

// startForLogin starts a gateway that has the one server alone, and the state file. stop ends it.
func startForLogin(ctx context.Context, f *loginFlags, server string, errOut io.Writer) (loginGateway, func(), error) {
	cfg, err := configfile.Load(f.config, errOut)
	if err != nil {
		return nil, nil, err
	}
	if cfg == nil || !slices.ContainsFunc(cfg.Servers, func(s config.Server) bool { return s.Name == server }) {
		return nil, nil, command.Fail(command.ExitFailed, login.ErrNoServer, "servers are defined under mcpServers")
	}
	if err := notBeside(ctx, cfg.Path); err != nil {
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
	end := func() {
		if err := serving.Stop(g, 0); err != nil {
			log.Warn("not everything stopped in time", "err", err)
		}
	}
	if err := local.WaitReady(ctx, g, io.Discard); err != nil { // it says then where to log in
		end()
		return nil, nil, err
	}
	return localLogin{g, known}, end, nil
}

// notBeside refuses to log in beside a gateway that runs with the file: it would not hear of the login.
func notBeside(ctx context.Context, path string) error {
	live, err := target.LiveSockets(os.Getenv)
	if err != nil {
		return nil // then there is none
	}
	for _, socket := range live {
		ctx, cancel := context.WithTimeout(ctx, target.RequestTimeout)
		s, err := admin.Fetch(ctx, socket)
		cancel()
		if err == nil && s.Config != "" && s.Config == configfile.Absolute(path) {
			return command.Fail(command.ExitFailed, errors.New("a gateway runs with that file"),
				fmt.Sprintf("logins are that gateway's: give --connect %s in place of --config", target.Port(socket)))
		}
	}
	return nil
}
