package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"goblin-actor/actors"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/local"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/login"
	"goblin-actor/internal/serving"
)

// NewStdio returns the stdio command.
func NewStdio() *cobra.Command {
	var path, stateDir string
	var to bridgeFlags
	cmd := &cobra.Command{
		Use:   "stdio",
		Short: "Serve one client on stdin and stdout",
		Long: `Serve one MCP client on stdin and stdout, for desktop programs that start their servers themselves. No other client can
connect, and there is no admin socket; logs go to stderr.

With --connect, the command connects stdin and stdout to a running gateway instead of starting one. The connection survives
restarts of the gateway: the command opens a new session for the client, restores its log level and subscriptions, and
answers requests in progress with an error.`,
		Example: "  goblin-actor stdio --config goblin.yaml\n  goblin-actor stdio --connect 8730",
		Args:    command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := to.check(cmd, path); err != nil {
				return err
			}
			outliveReaders()
			if to.connect != "" {
				return bridge(cmd, to)
			}
			growFast()
			return stdio(cmd, path, to.project, stateDir)
		},
	}
	to.add(cmd)
	cmd.Flags().StringVar(&path, "config", "", "configuration file (default: $GOBLIN_CONFIG, ./goblin.yaml, the user's config directory)")
	local.StateDirFlag(cmd, &stateDir)
	return cmd
}

func stdio(cmd *cobra.Command, path, project, stateDir string) error {
	cfg, err := configfile.Load(path, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if cfg == nil {
		if cfg, err = demoConfig(); err != nil {
			return err
		}
		fmt.Fprintln(cmd.ErrOrStderr(), "no configuration found; serving the demo servers notes and clock")
	}
	if err := configfile.CheckProject(cfg, project); err != nil {
		return err
	}
	ctx, stop := command.Interruptible(cmd)
	defer stop()
	level := new(slog.LevelVar)
	known := serving.Redactor(cfg)
	log := serving.NewLogger(cfg.Log, level, known.Writer(cmd.ErrOrStderr()))
	traces := serving.StartTelemetry(cfg, program.Version(), log, known)
	defer traces.Shutdown()
	log = slog.New(traces.Logs(log.Handler()))
	serving.NoteAlone(cfg, log)
	e, err := serving.NewSecurity(cfg, false, log)
	if err != nil {
		return configfile.CredentialsError(err)
	}
	defer e.Close()
	state := serving.StatePath(stateDir, log)
	pages, endPages := login.Standalone()
	defer endPages()
	g, err := actors.Start(cfg, actors.Options{
		Version: program.Version(), Log: log, State: state, Master: serving.MasterKey(state, log), Secrets: known, LoginURL: serving.LoginURL(pages),
		Telemetry: traces.Observer(),
	})
	if err != nil {
		return err
	}
	e.Attach(g)
	pages.SetGateway(g)
	following, unfollow := context.WithCancel(ctx)
	defer unfollow()
	r := serving.NewReloader(cfg, cfg.Listen, g, nil, e, level, known, log)
	r.Start(following)
	err = serveStdio(ctx, g, cfg, e, project, cmd.InOrStdin(), cmd.OutOrStdout(), log)
	if stopErr := serving.Stop(g, 0); stopErr != nil {
		log.Warn("not everything stopped in time", "err", stopErr)
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
