package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"goblin-actor/actors"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
)

// examineStep is how often a look is taken at the servers.
const examineStep = 50 * time.Millisecond

type doctorOptions struct {
	path     string
	patience time.Duration
	out      format
}

// newDoctor returns the command that tries every server of a configuration.
func newDoctor() *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor [SERVER]…",
		Short: "Try every server of the configuration and say what is wrong",
		Long: `Try every server of the configuration, or those named: is its program there, does it start, does its URL answer,
does it shake hands, in which version of the protocol, what does it offer? Each is told as soon as it is known. For
each fault: what was seen, why, what to do.

It needs no running gateway: it starts the servers itself, and ends them. Of a configuration with faults these are
told, and the servers are tried that have none. Exit code 1 if anything is wrong.

With -o json (or yaml) there is one document at the end: "ok"; "config"; "faults" and "warnings" of the file, each with
line, column, path, message and hint; "servers" in the order of the file, each with name, ok, state, tookMs, protocol,
transport and the number of tools, prompts, resources and templates, or with symptom, cause, todo and stderr.`,
		Example: `  goblin-actor doctor
  goblin-actor doctor files github
  goblin-actor doctor --config claude_desktop_config.json -o json`,
		Args: takes(0, -1, "names of servers"),
		RunE: func(cmd *cobra.Command, args []string) error { return doctor(cmd, args, o) },
	}
	cmd.Flags().StringVar(&o.path, "config", "", configFlagHelp)
	cmd.Flags().DurationVar(&o.patience, "timeout", readyTime, "how long the servers may take to start")
	o.out.add(cmd)
	return cmd
}

func doctor(cmd *cobra.Command, names []string, o doctorOptions) error {
	path, ok := config.Find(o.path, os.Getenv)
	if !ok {
		return &exitError{exitFailed, errors.New("no configuration found"), "name one with --config; goblin-actor serve runs the demo servers without any"}
	}
	cfg, report := config.Salvage(path)
	d := newDiagnosis(cmd.OutOrStdout(), path, o.out, cfg, report)
	if cfg != nil {
		if err := only(cfg, names); err != nil {
			return err
		}
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	d.doc.Behind = behind(ctx, path)
	d.begin()
	if cfg != nil {
		d.wait = newWaiting(cmd.ErrOrStderr())
		defer d.wait.clear()
		if err := d.examine(ctx, cfg, o.patience); err != nil {
			return err
		}
	}
	if err := d.end(); err != nil {
		return err
	}
	if d.ill > 0 || len(report.Faults) > 0 {
		return &exitError{code: exitFailed, err: errors.New(d.verdict())}
	}
	return nil
}

// behind lists the gateways that run with an older text of the file, as they could not reload the one there is.
func behind(ctx context.Context, path string) []behindDoc {
	gateways, _ := (&applying{}).gateways(ctx) // none that answers is no fault
	var list []behindDoc
	for _, g := range gateways {
		if f := g.status.ConfigFault; f != nil && sameFile(g.status.Config, path) {
			list = append(list, behindDoc{Listen: g.status.Listen, Since: f.Since, Reason: f.Reason})
		}
	}
	return list
}

// only leaves the servers named, or all when none is. They are started as if somebody waited for each.
func only(cfg *config.Config, names []string) error {
	var known []string
	for i := range cfg.Servers {
		cfg.Servers[i].Startup = "eager"
		known = append(known, cfg.Servers[i].Name)
	}
	if len(names) == 0 {
		return nil
	}
	for i, name := range names {
		names[i] = config.Slug(name)
		if !slices.Contains(known, names[i]) {
			hint := "it has " + listed(known)
			if near := config.Nearest(name, known); near != "" {
				hint = fmt.Sprintf("did you mean %s?", near)
			}
			return usageError(hint, "%s has no server %q", cfg.Path, oneLine(name, 64))
		}
	}
	cfg.Servers = slices.DeleteFunc(cfg.Servers, func(s config.Server) bool { return !slices.Contains(names, s.Name) })
	return nil
}

// diagnosis is what is known of a configuration and its servers so far.
type diagnosis struct {
	out    io.Writer
	format format
	paint  palette
	cfg    *config.Config // nil = nothing of the file could be read
	report config.Report
	doc    diagnosisDoc

	wait    *waiting
	began   time.Time
	done    map[string]bool      // the servers that have been told
	advised map[[2]string]string // who was given that cause and cure
	kept    map[string]serverDoc // by server
	ill     int
}

func newDiagnosis(out io.Writer, path string, format format, cfg *config.Config, report config.Report) *diagnosis {
	return &diagnosis{
		out: out, format: format, paint: paletteFor(out), cfg: cfg, report: report, began: time.Now(), doc: diagnosisDoc{Config: path},
		done: map[string]bool{}, advised: map[[2]string]string{}, kept: map[string]serverDoc{},
	}
}

// examine starts the servers and tells each as soon as it is ready or has failed once, the rest when patience is over.
func (d *diagnosis) examine(ctx context.Context, cfg *config.Config, patience time.Duration) error {
	trial := *cfg
	trial.Audit = config.Audit{} // nobody calls anything, and the gateway that writes the log may run
	g, err := actors.Start(&trial, actors.Options{Version: buildVersion(), Log: slog.New(slog.DiscardHandler), Secrets: knownOf(cfg)})
	if err != nil {
		return err
	}
	err = d.watch(ctx, g, patience)
	return errors.Join(err, stopGateway(g, 0))
}

func (d *diagnosis) watch(ctx context.Context, g *actors.Gateway, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(examineStep)
	defer tick.Stop()
	var last *status.Snapshot
	for {
		if s, err := g.Status(ctx); err == nil {
			last = s
			if d.look(s, false) {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, context.DeadlineExceeded) || last == nil {
				return cause
			}
			d.look(last, true)
			return nil
		}
	}
}

// look tells the servers that nobody need wait for any more; with all those too that still start. It returns whether every one
// has been told.
func (d *diagnosis) look(s *status.Snapshot, all bool) bool {
	for _, server := range s.Servers {
		if d.done[server.Name] || slices.Contains(s.Waiting, server.Name) && !all {
			continue
		}
		d.done[server.Name] = true
		d.wait.clear()
		d.tell(server, backendOf(s, server.Name))
	}
	d.wait.show(s.Waiting, time.Since(d.began))
	return s.Ready
}

// backendOf returns the connection of a server that has most to say: one that failed, else the first.
func backendOf(s *status.Snapshot, server string) status.Backend {
	var first status.Backend
	for _, b := range s.Backends {
		if b.Server != server {
			continue
		}
		if b.Reason != "" {
			return b
		}
		if first.Server == "" {
			first = b
		}
	}
	return first
}

// configOf is the entry of a server, of a group its first one.
func (d *diagnosis) configOf(name string) config.Server {
	for _, server := range d.cfg.Servers {
		if cmp.Or(server.Group, server.Name) == name || server.Name == name {
			return server
		}
	}
	return config.Server{}
}

// verdict is the last line.
func (d *diagnosis) verdict() string {
	var parts []string
	if n := len(d.report.Faults); n > 0 {
		parts = append(parts, count(n, "fault")+" in the configuration")
	}
	if d.ill > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s not well", d.ill, count(len(d.done), "server")))
	}
	return strings.Join(parts, "; ")
}
