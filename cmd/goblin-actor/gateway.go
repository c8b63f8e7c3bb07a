package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"goblin-actor/actors"
	"goblin-actor/internal/config"
	"goblin-actor/internal/login"
	"goblin-actor/internal/visible"
)

// loadConfig reads the configuration that the flag or the search order names; nil when there is none.
// Warnings and faults go to w; with faults the error has exit code 3.
func loadConfig(flag string, w io.Writer) (*config.Config, error) {
	cfg, _, err := loadReport(flag, w)
	return cfg, err
}

// loadReport is loadConfig for those who also want to know what the file says where.
func loadReport(flag string, w io.Writer) (*config.Config, config.Report, error) {
	path, ok := config.Find(flag, os.Getenv)
	if !ok {
		return nil, config.Report{}, nil
	}
	cfg, report := config.Load(path)
	tellFindings(w, report)
	if cfg == nil {
		return nil, report, &exitError{code: exitConfig} // all has been said
	}
	return cfg, report, nil
}

// demoConfig is what serve runs without a configuration: the built-in demo servers, as processes of this program.
func demoConfig() (*config.Config, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program to run the demo servers with it: %w", err)
	}
	cfg := config.Default()
	for i, name := range []string{"notes", "clock"} {
		server := config.DefaultServer()
		server.Name, server.Written, server.Order = name, name, i
		server.Command, server.Args = self, []string{"demo", name}
		cfg.Servers = append(cfg.Servers, server)
	}
	return &cfg, nil
}

// newLogger logs to w as the configuration says; level, which may be nil, changes what is logged later.
func newLogger(c config.Log, level *slog.LevelVar, w io.Writer) *slog.Logger {
	if level == nil {
		level = new(slog.LevelVar)
	}
	level.Set(levelOf(c))
	options := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(visible.Writer(w), options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

func levelOf(c config.Log) slog.Level {
	level := slog.LevelInfo
	if level.UnmarshalText([]byte(c.Level)) != nil {
		return slog.LevelInfo
	}
	return level
}

// stopGrace is how long actors and children have to end after the drain.
const stopGrace = 5 * time.Second

// stopGateway drains and stops; what is left running is an error.
func stopGateway(g *actors.Gateway, drain time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), drain+stopGrace)
	defer cancel()
	return g.Stop(ctx, drain)
}

// newStdio returns the command that serves one client on stdin and stdout.
func newStdio() *cobra.Command {
	var path, stateDir string
	var to bridgeFlags
	cmd := &cobra.Command{
		Use:   "stdio",
		Short: "Serve one client on stdin and stdout",
		Long: `Serve one MCP client on stdin and stdout: for desktop programs that start their servers themselves.
There is no listener and no admin socket; logs go to stderr.

With --connect no gateway runs here: stdin and stdout are bridged to a running one. The bridge outlives its
restarts: it opens a new session in the client's name, sets its log level and subscriptions again, and answers
what was under way with an error. Its clients speak a version with initialize (2024-11-05 to 2025-11-25).`,
		Example: "  goblin-actor stdio --config goblin.yaml\n  goblin-actor stdio --connect 8730",
		Args:    takes(0, 0, ""),
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
	addStateDir(cmd, &stateDir)
	return cmd
}

func stdio(cmd *cobra.Command, path, project, stateDir string) error {
	cfg, err := loadConfig(path, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if cfg == nil {
		if cfg, err = demoConfig(); err != nil {
			return err
		}
		fmt.Fprintln(cmd.ErrOrStderr(), "no configuration found: serving the demo servers notes and clock")
	}
	if err := inProject(cfg, project); err != nil {
		return err
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	level := new(slog.LevelVar)
	known := knownOf(cfg)
	log := newLogger(cfg.Log, level, known.Writer(cmd.ErrOrStderr()))
	e, err := newEdge(cfg, false, log)
	if err != nil {
		return err
	}
	defer e.gate.Close()
	state := statePath(stateDir, log)
	pages, endPages := login.Standalone()
	defer endPages()
	g, err := actors.Start(cfg, actors.Options{Version: buildVersion(), Log: log, State: state, Master: masterOf(state, log), Secrets: known, LoginURL: loginURL(pages)})
	if err != nil {
		return err
	}
	e.begin(g)
	pages.Serve(g)
	following, unfollow := context.WithCancel(ctx)
	defer unfollow()
	r := newReloading(cfg, cfg.Listen, g, nil, e, level, log)
	r.known = known
	r.begin(following)
	err = serveStdio(ctx, g, cfg, e, project, cmd.InOrStdin(), cmd.OutOrStdout(), log)
	if stopErr := stopGateway(g, 0); stopErr != nil {
		log.Warn("not everything ended in time", "err", stopErr)
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
