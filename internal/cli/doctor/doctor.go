package doctor

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
	"goblin-actor/actors/catalog"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/local"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
	"goblin-actor/internal/serving"
	"goblin-actor/internal/status"
)

// examineStep is how often a look is taken at the servers.
const examineStep = 50 * time.Millisecond

type doctorOptions struct {
	path     string
	connect  string // the running gateway whose servers are examined; "" = the servers of the file are started
	patience time.Duration
	out      output.Format
}

// NewCommand returns the command that tries every server of a configuration.
func NewCommand() *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor [SERVER]…",
		Short: "Try every server of the configuration and say what is wrong",
		Long: `Try every server of the configuration, or those named: is its program there, does it start, does its URL answer,
does it complete the handshake, in which version of the protocol, what does it offer? Each server is reported as soon as
the answer is known. For each fault, doctor says what it saw, why that is, and what to do.

It needs no running gateway: it starts the servers itself and stops them. With --connect it starts nothing and examines
the servers of that running gateway instead. If the configuration has faults, doctor reports them and tries the servers
that have none. Exit code 1 if anything is wrong.

With -o json (or yaml) there is one document at the end: "ok"; "config"; "faults" and "warnings" of the file, each with
line, column, path, message and hint; "servers" in the order of the file, each with name, ok, state, tookMs, protocol,
transport and the number of tools, prompts, resources and templates, or with symptom, cause, todo, stderr and "others":
what else may be the cause.`,
		Example: `  goblin-actor doctor
  goblin-actor doctor files github
  goblin-actor doctor --config claude_desktop_config.json -o json
  goblin-actor doctor --connect 8730`,
		Args: command.Args(0, -1, "names of servers"),
		RunE: func(cmd *cobra.Command, args []string) error { return doctor(cmd, args, o) },
	}
	cmd.Flags().StringVar(&o.path, "config", "", configfile.FlagHelp)
	cmd.Flags().StringVar(&o.connect, "connect", "", "explain the servers of this running gateway, start none: its port, loopback address or admin socket")
	cmd.Flags().DurationVar(&o.patience, "timeout", local.ReadyTimeout, "how long the servers may take to start")
	o.out.AddFlag(cmd)
	return cmd
}

func doctor(cmd *cobra.Command, names []string, o doctorOptions) error {
	ctx, stop := command.Interruptible(cmd)
	defer stop()
	var running *target.Gateway // nil = the servers are started here
	path, ok := config.Find(o.path, os.Getenv)
	if o.connect != "" && o.path != "" {
		return command.UsageError("give one of them", "--connect and --config exclude each other")
	}
	if o.connect != "" {
		gateways, err := target.Gateways(ctx, o.connect)
		if err != nil {
			return err
		}
		running, ok = gateways[0], true
		path = running.Status.Config
	}
	if !ok {
		return command.Fail(command.ExitFailed, errors.New("no configuration found"), "name one with --config; goblin-actor serve runs the demo servers without any")
	}
	cfg, report := readFor(running, path)
	d := newDiagnosis(cmd.OutOrStdout(), path, o.out, cfg, report)
	if cfg != nil {
		if running == nil { // started as if each were needed
			for i := range cfg.Servers {
				cfg.Servers[i].Startup = "eager"
			}
		}
		if err := configfile.SelectServers(cfg, names); err != nil {
			return err
		}
	}
	d.running = running != nil
	d.doc.Behind = behind(ctx, path)
	d.begin()
	if cfg != nil {
		d.wait = terminal.NewWaitLine(cmd.ErrOrStderr())
		defer d.wait.Clear()
		if err := d.examine(ctx, running, o.patience); err != nil {
			return err
		}
	}
	if err := d.end(); err != nil {
		return err
	}
	if d.ill > 0 || len(report.Faults) > 0 {
		return &command.Error{Code: command.ExitFailed, Err: errors.New(d.verdict())}
	}
	return nil
}

// readFor reads the configuration to examine. Of a running gateway, the servers are those it has, whatever its file says now.
func readFor(running *target.Gateway, path string) (*config.Config, config.Report) {
	if running == nil {
		return config.Salvage(path)
	}
	var cfg *config.Config
	var report config.Report
	if path != "" {
		cfg, report = config.Salvage(path)
	}
	if cfg == nil {
		cfg = &config.Config{Path: path}
	}
	for _, server := range running.Status.Servers {
		if !slices.ContainsFunc(cfg.Servers, func(s config.Server) bool { return cmp.Or(s.Group, s.Name) == server.Name }) {
			cfg.Servers = append(cfg.Servers, config.Server{Name: server.Name})
		}
	}
	return cfg, report
}

// behind lists the gateways that run with an older text of the file, as they could not reload the one there is.
func behind(ctx context.Context, path string) []behindDoc {
	gateways, _ := target.Gateways(ctx, "") // none that answers is no fault
	var list []behindDoc
	for _, g := range gateways {
		if f := g.Status.ConfigFault; f != nil && g.RunsWith(path) {
			list = append(list, behindDoc{Listen: g.Status.Listen, Since: f.Since, Reason: f.Reason})
		}
	}
	return list
}

// diagnosis is what is known of a configuration and its servers so far.
type diagnosis struct {
	out    io.Writer
	format output.Format
	paint  terminal.Palette
	cfg    *config.Config // nil = nothing of the file could be read
	report config.Report
	doc    diagnosisDoc

	running bool                                   // the servers are those of a running gateway
	tools   func() map[string][]catalog.ListedTool // nil = the tools are not examined
	wait    *terminal.WaitLine
	began   time.Time
	done    map[string]bool      // the servers that have been told
	advised map[advice]string    // who was given that cause and cure
	kept    map[string]serverDoc // by server
	ill     int
}

func newDiagnosis(out io.Writer, path string, format output.Format, cfg *config.Config, report config.Report) *diagnosis {
	return &diagnosis{
		out: out, format: format, paint: terminal.PaletteFor(out), cfg: cfg, report: report, began: time.Now(), doc: diagnosisDoc{Config: path},
		done: map[string]bool{}, advised: map[advice]string{}, kept: map[string]serverDoc{},
	}
}

// examine tells each server as soon as it is ready or has failed once, the rest when patience is over. It starts the servers, unless
// those of a running gateway are meant.
func (d *diagnosis) examine(ctx context.Context, running *target.Gateway, patience time.Duration) error {
	if running != nil {
		return d.watch(ctx, running.Source, patience)
	}
	trial := *d.cfg
	trial.Audit = config.Audit{} // nobody calls anything, and the gateway that writes the log may run
	g, err := actors.Start(&trial, actors.Options{Version: program.Version(), Log: slog.New(slog.DiscardHandler), Secrets: serving.Redactor(d.cfg)})
	if err != nil {
		return err
	}
	d.tools = func() map[string][]catalog.ListedTool {
		tools, _ := g.ListedTools(ctx) // an interrupted doctor reports nothing about tools
		return tools
	}
	err = d.watch(ctx, g, patience)
	return errors.Join(err, serving.Stop(g, 0))
}

func (d *diagnosis) watch(ctx context.Context, g interface {
	Status(context.Context) (*status.Snapshot, error)
}, patience time.Duration) error {
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
	complete := true
	for _, server := range s.Servers {
		switch {
		case !d.concerns(server.Name) || d.done[server.Name]:
			continue
		case d.awaited(s, server) && !all:
			complete = false
			continue
		}
		d.done[server.Name] = true
		d.wait.Clear()
		d.tell(server, backendOf(s, server.Name))
	}
	d.wait.Show(s.Waiting, time.Since(d.began))
	return (s.Ready || d.running) && complete
}

// awaited reports whether a server is still in its start. One of a running gateway may be known from before, and not waited for by others.
func (d *diagnosis) awaited(s *status.Snapshot, server status.Server) bool {
	switch {
	case slices.Contains(s.Waiting, server.Name):
		return true
	case d.running && server.State == "idle":
		return !d.rests(server)
	}
	return d.running && slices.Contains([]string{"connecting", "handshaking", "syncing"}, server.State)
}

// rests reports whether a server of a running gateway does not run because nothing needs it yet.
func (d *diagnosis) rests(server status.Server) bool {
	return d.running && server.State == "idle" && d.configOf(server.Name).Startup == "lazy"
}

// concerns reports whether a server is one of those to tell: a running gateway has others, too, where some were named.
func (d *diagnosis) concerns(name string) bool {
	return slices.ContainsFunc(d.cfg.Servers, func(s config.Server) bool { return cmp.Or(s.Group, s.Name) == name || s.Name == name })
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
		parts = append(parts, terminal.Count(n, "fault")+" in the configuration")
	}
	if d.ill > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s not well", d.ill, terminal.Count(len(d.done), "server")))
	}
	return strings.Join(parts, "; ")
}
