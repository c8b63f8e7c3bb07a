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
	"goblin-actor/actors/message"
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

// examineStep is the interval between polls of the servers.
const examineStep = 50 * time.Millisecond

type doctorOptions struct {
	path     string
	connect  string // address of the running gateway whose servers are examined; "" = doctor starts the servers of the file
	patience time.Duration
	out      output.Format
}

// NewCommand returns the doctor command.
func NewCommand() *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor [SERVER]…",
		Short: "Test every server in the configuration and explain failures",
		Long: `Test every server in the configuration, or only those named. doctor starts each server or connects to its URL, completes
the handshake, and lists what it offers. It reports each server as soon as the result is known. For each failure it
prints the symptom, the likely cause, and a fix.

doctor does not need a running gateway: it starts the servers itself and stops them afterwards. With --connect it starts
nothing and examines the servers of a running gateway. If the configuration has errors, doctor reports them and tests
the servers that have none. The exit code is 1 if a server or a check failed or the configuration has errors.

If the configuration has a cluster section, doctor first checks this machine as a node: whether its ports are free, whether
the seeds accept its certificate, or whether the NATS servers answer. It skips these checks if you name servers.

With -o json or -o yaml, doctor prints one document at the end: "ok", "config", "faults" and "warnings" of the file (file,
line, column, path, message and hint), and "servers" in the order of the file. A healthy server has name, ok, state, tookMs,
protocol, transport, the numbers of tools, prompts, resources and templates, and if there are any, noise (lines on stdout
that are not messages), invalid (tools) and findings (of lint). A failed one also has symptom, cause, todo (the fix), stderr,
and "others" with other possible causes. "behind" lists running gateways that could not reload the file. "cluster" has name,
node, listen, routes and "checks": name, result (ok, note, warning or failed), detail, cause and todo.`,
		Example: `  goblin-actor doctor
  goblin-actor doctor files github
  goblin-actor doctor --config claude_desktop_config.json -o json
  goblin-actor doctor --connect 8730`,
		Args: command.Args(0, -1, "server names"),
		RunE: func(cmd *cobra.Command, args []string) error { return doctor(cmd, args, o) },
	}
	cmd.Flags().StringVar(&o.path, "config", "", configfile.FlagHelp)
	cmd.Flags().StringVar(&o.connect, "connect", "", "examine the servers of this running gateway instead of starting them: port, loopback address or admin socket")
	cmd.Flags().DurationVar(&o.patience, "timeout", local.ReadyTimeout, "maximum time for the servers to start")
	o.out.AddFlag(cmd)
	return cmd
}

func doctor(cmd *cobra.Command, names []string, o doctorOptions) error {
	ctx, stop := command.Interruptible(cmd)
	defer stop()
	var running *target.Gateway // nil = the servers are started here
	path, ok := config.Find(o.path, os.Getenv)
	if o.connect != "" && o.path != "" {
		return command.UsageError("use only one of them", "--connect and --config cannot be combined")
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
		return command.Fail(command.ExitFailed, errors.New("no configuration found"), "specify a file with --config; to run the demo servers without one, use goblin-actor serve")
	}
	cfg, report := readFor(running, path)
	d := newDiagnosis(cmd.OutOrStdout(), path, o.out, cfg, report)
	if cfg != nil {
		if running == nil { // start every server
			for i := range cfg.Servers {
				s := &cfg.Servers[i]
				s.Startup, s.Disabled = "eager", s.Disabled || cfg.RunsElsewhere(s)
			}
		}
		if err := configfile.SelectServers(cfg, names); err != nil {
			return err
		}
	}
	d.running = running != nil
	d.doc.Behind = outdated(ctx, path)
	d.begin()
	if len(names) == 0 {
		d.examineCluster(ctx)
	}
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
	if d.unhealthy > 0 || d.clusterFailed > 0 || len(report.Faults) > 0 {
		return &command.Error{Code: command.ExitFailed, Err: errors.New(d.summary())}
	}
	return nil
}

// readFor reads the configuration to examine. For a running gateway, it adds the gateway's servers that the file does
// not list.
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
		if !slices.ContainsFunc(cfg.Servers, func(s config.Server) bool { return cmp.Or(s.Group, s.Name) == server.Name || s.Name == server.Name }) {
			cfg.Servers = append(cfg.Servers, config.Server{Name: server.Name})
		}
	}
	return cfg, report
}

// outdated returns the gateways that use the file, could not reload it, and therefore run with an older version of it.
func outdated(ctx context.Context, path string) []behindDoc {
	gateways, _ := target.Gateways(ctx, "") // without the gateways that do not answer
	var list []behindDoc
	for _, g := range gateways {
		if f := g.Status.ConfigFault; f != nil && g.RunsWith(path) {
			list = append(list, behindDoc{Listen: g.Status.Listen, Since: f.Since, Reason: f.Reason})
		}
	}
	return list
}

// diagnosis collects what is known about a configuration and its servers.
type diagnosis struct {
	out    io.Writer
	format output.Format
	paint  terminal.Palette
	cfg    *config.Config // nil = the file could not be read
	report config.Report
	doc    diagnosisDoc

	running   bool                                   // the servers belong to a running gateway
	tools     func() map[string][]catalog.ListedTool // nil = tools are not examined
	wait      *terminal.WaitLine
	began     time.Time
	done      map[string]bool      // the servers that have been reported
	advised   map[advice]string    // the first server for which each advice was printed
	servers   map[string]serverDoc // by name
	unhealthy int

	clusterFailed int // failed checks of this node
}

func newDiagnosis(out io.Writer, path string, format output.Format, cfg *config.Config, report config.Report) *diagnosis {
	return &diagnosis{
		out: out, format: format, paint: terminal.PaletteFor(out), cfg: cfg, report: report, began: time.Now(), doc: diagnosisDoc{Config: path},
		done: map[string]bool{}, advised: map[advice]string{}, servers: map[string]serverDoc{},
	}
}

// examine reports each server as soon as it is ready or has failed once. When the duration patience has passed, it
// reports the remaining ones. It starts the servers unless they belong to a running gateway.
func (d *diagnosis) examine(ctx context.Context, running *target.Gateway, patience time.Duration) error {
	if running != nil {
		return d.watch(ctx, running.Source, patience)
	}
	trial := *d.cfg
	trial.Audit = config.Audit{} // doctor calls no tools, and a running gateway may be writing to the log
	g, err := actors.Start(&trial, actors.Options{Version: program.Version(), Log: slog.New(slog.DiscardHandler), Secrets: serving.Redactor(d.cfg)})
	if err != nil {
		return err
	}
	d.tools = func() map[string][]catalog.ListedTool {
		tools, _ := g.ListedTools(ctx) // the error means that doctor was interrupted; then nothing about tools is reported
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
			if d.update(s, false) {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, context.DeadlineExceeded) || last == nil {
				return cause
			}
			d.update(last, true)
			return nil
		}
	}
}

// update reports the servers that have become ready or failed; if all is set, also those still starting. It returns
// true once every server has been reported.
func (d *diagnosis) update(s *status.Snapshot, all bool) bool {
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
		d.add(server, backendOf(s, server.Name))
	}
	d.wait.Show(s.Waiting, time.Since(d.began))
	return (s.Ready || d.running) && complete
}

// awaited reports whether a server is still starting. A running gateway does not list a server as waiting if it knows
// its items from the state file.
func (d *diagnosis) awaited(s *status.Snapshot, server status.Server) bool {
	switch {
	case slices.Contains(s.Waiting, server.Name):
		return true
	case d.running && server.State == "idle":
		return !d.idle(server)
	}
	_, failed := message.CutFailure(server.Reason)
	if server.State == "syncing" && !failed { // its lists have been fetched, but clients do not see them yet
		return true
	}
	return d.running && slices.Contains([]string{"connecting", "handshaking", "syncing"}, server.State)
}

// idle reports whether the server belongs to a running gateway, is lazy, and starts on its next call.
func (d *diagnosis) idle(server status.Server) bool {
	return d.running && server.State == "idle" && d.configOf(server.Name).Startup == "lazy"
}

// concerns reports whether the server is to be reported. A running gateway may have more servers than the selected ones.
func (d *diagnosis) concerns(name string) bool {
	return slices.ContainsFunc(d.cfg.Servers, func(s config.Server) bool { return cmp.Or(s.Group, s.Name) == name || s.Name == name })
}

// backendOf returns a connection of the server: one with a failure, otherwise the first. It returns a zero Backend if
// there is none.
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

// configOf returns the configuration of a server, or of the first member of a group.
func (d *diagnosis) configOf(name string) config.Server {
	for _, server := range d.cfg.Servers {
		if cmp.Or(server.Group, server.Name) == name || server.Name == name {
			return server
		}
	}
	return config.Server{}
}

// summary returns the last line of the report, which counts errors, failed checks of the cluster and unhealthy servers.
func (d *diagnosis) summary() string {
	var parts []string
	if n := len(d.report.Faults); n > 0 {
		parts = append(parts, terminal.Count(n, "error")+" in the configuration")
	}
	if d.clusterFailed > 0 {
		parts = append(parts, terminal.Count(d.clusterFailed, "check")+" of the cluster failed")
	}
	if d.unhealthy > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s unhealthy", d.unhealthy, terminal.Count(len(d.done), "server")))
	}
	return strings.Join(parts, "; ")
}
