package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"goblin-actor/actors"
	"goblin-actor/internal/admin"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/console"
	"goblin-actor/internal/cli/local"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
	"goblin-actor/internal/login"
	"goblin-actor/internal/node"
	"goblin-actor/internal/secret"
	"goblin-actor/internal/serving"
	"goblin-actor/internal/status"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream/process"
	"goblin-actor/tui"
)

// NewServe returns the serve command. With --tui, the console explains denials with explain.
func NewServe(explain console.Explain) *cobra.Command {
	o := serveOptions{explain: explain}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the gateway over HTTP",
		Long: `Run the gateway: one MCP endpoint (streamable HTTP, /mcp) for all servers in the configuration. Without a configuration, the
built-in demo servers run.

On SIGTERM or SIGINT, running calls may finish before the servers are stopped. A second signal ends the gateway at once. A
change of the configuration file, or SIGHUP, reloads the configuration.`,
		Example: `  goblin-actor serve
  goblin-actor serve --config goblin.yaml
  goblin-actor serve --config claude_desktop_config.json --listen 127.0.0.1:9000`,
		Args: command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flag := console.Used(cmd); flag != "" && !o.tui {
				return command.UsageError("add --tui", "--%s requires --tui", flag)
			}
			growFast()
			return toLogFile(cmd, o.logFile, func() error { return serve(cmd, o) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.config, "config", "", "configuration file (default: $GOBLIN_CONFIG, ./goblin.yaml, the user's config directory)")
	flags.StringArrayVar(&o.listen, "listen", nil, "address or port to listen on instead of those in the configuration (repeatable)")
	flags.BoolVar(&o.tui, "tui", false, "open the terminal UI; quitting it stops the gateway")
	flags.BoolVar(&o.demo, "demo", false, "run the demo servers and ignore any configuration")
	flags.StringVar(&o.logFile, "log-file", "", "write the log to this file instead of stderr; at 10 MiB it is renamed to FILE.1")
	flags.StringVar(&o.service, "service", "", "name of the service that runs this command, for goblin-actor status")
	_ = flags.MarkHidden("service") // the flag exists
	o.look.Flags(cmd)
	local.StateDirFlag(cmd, &o.stateDir)
	return cmd
}

type serveOptions struct {
	config  string
	listen  []string
	demo    bool
	tui     bool
	look    console.Look
	explain console.Explain

	logFile   string
	service   string // name of the service; "" = none
	stateDir  string
	unchecked bool // tool definitions are not checked, regardless of the configuration; for bench
}

func serve(cmd *cobra.Command, o serveOptions) error {
	cfg, err := serveConfig(cmd, o)
	if err != nil {
		return err
	}
	look := tui.Options{Ends: true}
	errOut, err := logOutput(cmd, &look, o)
	if err != nil {
		return err
	}
	known := serving.Redactor(cfg)
	logs := newServeLogs(cfg.Log, known, errOut)
	traces := serving.StartTelemetry(cfg, program.Version(), logs.log, known)
	defer traces.Shutdown()
	log := slog.New(traces.Logs(logs.log.Handler()))
	e, err := serving.NewSecurity(cfg, true, log)
	if err != nil {
		return configfile.CredentialsError(err)
	}
	defer e.Close()
	listeners, err := listenAll(cfg.Listen)
	if err != nil {
		return err
	}
	pages := serving.LoginPages(e, listeners)
	state := serving.StatePath(o.stateDir, log)
	g, n, err := startGateway(cfg, e, actors.Options{Version: program.Version(), Log: log, State: state, Master: serving.MasterKey(state, log), Secrets: known, LoginURL: e.LoginURL(pages), Telemetry: traces.Observer()})
	if err != nil {
		return err
	}
	defer n.Stop()
	pages.SetGateway(g)
	server := newServer(cfg, g, e, pages, log)
	failed := answer(server, listeners, e.Secure, g)
	ctx, drain := context.WithCancelCause(cmd.Context())
	r := serving.NewReloader(cfg, o.listen, g, server, e, logs.level, known, log)
	n.Follow(ctx, r)
	source := status.Local{Known: known.Cut, Service: serviceOf(o), Gateway: g, Counters: g.Metrics(), Log: logs.events, Changes: g.Changes(), Streams: status.NewStreams(program.Version()), Keys: e.Users, Drain: func() { g.RecordAct("drain", "", "", nil); drain(errDrain) }, Reload: r.Request, Switch: r.Switch, AskNode: admin.AskActivity(n.AdminDialer())}
	serving.NewAdminUser(g, cfg, program.Version(), log).Serve(&source)
	socket := openAdmin(listeners[0], source, n, log, serving.AdminRoutes(source, pages))
	var left <-chan struct{} // nil without a terminal UI
	stop := func() {}
	if o.tui {
		left, stop = console.Start(cmd.Context(), source, o.acting(look, source, g, known), log)
	} else {
		greet(cmd, cfg, e, listeners[0].Addr().String())
	}
	if logs.lines != nil {
		go logs.lines.follow(ctx, g.Status)
	}
	signals, handBack := endSignals()
	defer handBack()
	defer r.Start(ctx)()
	notifySystemd(daemon.SdNotifyReady, log) // after r.Start, which handles SIGHUP
	err = waitForEnd(ctx, signals, failed, left, log)
	drain(nil)
	stop()
	return errors.Join(err, end(r.DrainTime(), g, n, server, socket, log))
}

// startGateway starts the gateway and, if the configuration says so, makes it a node of a cluster. Otherwise, the node is nil.
func startGateway(cfg *config.Config, e *serving.Security, o actors.Options) (*actors.Gateway, *node.Node, error) {
	o.Budget = stream.NewBudget(cfg.Limits.MaxBufferedBytes)
	n, err := node.Start(cfg, e, o.State, o.Budget, o.Log)
	if err != nil {
		return nil, nil, command.Fail(command.ExitFailed, err, "run goblin-actor doctor to check this machine as a node of the cluster")
	}
	o.Cluster = n.Options()
	g, err := actors.Start(cfg, o)
	if err != nil {
		n.Stop()
		return nil, nil, err
	}
	e.Attach(g)
	n.Serve(g, cfg)
	return g, n, nil
}

// logOutput returns where the log goes. With --tui it prepares the terminal.
func logOutput(cmd *cobra.Command, look *tui.Options, o serveOptions) (io.Writer, error) {
	if !o.tui {
		return cmd.ErrOrStderr(), nil
	}
	if err := console.Prepare(cmd, look, &o.look); err != nil {
		return nil, err
	}
	return console.LogWriter(cmd.ErrOrStderr()), nil
}

// acting returns the console's options with the logins of a gateway and explanations of its denials.
func (o serveOptions) acting(look tui.Options, source status.Source, g *actors.Gateway, known *secret.Redactor) tui.Options {
	look.Logins, look.Explain = console.Logins(serving.LocalLogins(g, known)), o.explain.Of(source)
	return look
}

// serveLogs holds the logs of serve.
type serveLogs struct {
	log    *slog.Logger
	level  *slog.LevelVar // minimum level; a reload changes it
	events *status.Events // for the terminal UI and the admin socket
	lines  *terminalLog   // output on a terminal; nil = stderr is not a terminal, or log.format is not text
}

func newServeLogs(c config.Log, known *secret.Redactor, errOut io.Writer) serveLogs {
	l := serveLogs{level: new(slog.LevelVar), events: &status.Events{Known: known.Cut}}
	handler := serving.NewLogger(c, l.level, known.Writer(errOut)).Handler()
	if terminal.IsTerminal(errOut) && c.Format == "text" {
		l.lines = newTerminalLog(errOut, handler, l.level, time.Now())
		l.lines.known = known.Cut
		handler = l.lines
	}
	l.log = slog.New(l.events.Record(handler))
	return l
}

// answer serves clients on the listeners. secure says for the status whether they use TLS. When a listener ends, the
// returned channel receives its error, or nil.
func answer(server *downstream.Server, listeners []net.Listener, secure bool, g *actors.Gateway) (failed <-chan error) {
	ended := make(chan error, len(listeners))
	addresses := make([]string, len(listeners))
	for i, l := range listeners {
		addresses[i] = l.Addr().String()
		go func() { ended <- server.Serve(l) }()
	}
	g.Listening(addresses, secure)
	return ended
}

// greet prints the URL of the gateway to stdout for scripts. If the demo servers run, it also prints instructions to
// stderr.
func greet(cmd *cobra.Command, cfg *config.Config, e *serving.Security, address string) {
	scheme := "http"
	if e.Secure {
		scheme = "https"
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s://%s/mcp\n", scheme, address)
	if cfg.Path == "" {
		welcome(cmd.ErrOrStderr(), address)
	}
}

// serveConfig loads the configuration. If there is none, it returns one with the demo servers.
func serveConfig(cmd *cobra.Command, o serveOptions) (*config.Config, error) {
	var cfg *config.Config
	var err error
	if !o.demo {
		if cfg, err = configfile.Load(o.config, cmd.ErrOrStderr()); err != nil {
			return nil, err
		}
	}
	if cfg == nil {
		if cfg, err = demoConfig(); err != nil {
			return nil, err
		}
	}
	if o.unchecked {
		for i := range cfg.Servers {
			cfg.Servers[i].Tools.Invalid = ""
		}
	}
	cfg.Path = configfile.Absolute(cfg.Path) // commands that run in other directories compare this path with that of the file they edit
	if len(o.listen) > 0 {
		for i, address := range o.listen {
			if _, err := strconv.ParseUint(address, 10, 16); err == nil { // a port alone, as in --connect
				address = "127.0.0.1:" + address
				o.listen[i] = address
			}
			if err := cfg.CheckListen(address); err != nil {
				return nil, command.Fail(command.ExitConfig, fmt.Errorf("--listen %s: %w", secret.Text(address), err), config.ListenHint(address, err))
			}
		}
		cfg.Listen = o.listen
	}
	return cfg, nil
}

// listenAll listens on all addresses. If one fails, it closes the others and returns an error.
func listenAll(addresses []string) ([]net.Listener, error) {
	var listeners []net.Listener
	for _, address := range addresses {
		l, err := net.Listen("tcp", address)
		if err != nil {
			for _, open := range listeners {
				open.Close()
			}
			hint := ""
			if errors.Is(err, syscall.EADDRINUSE) {
				hint = "choose another address with --listen; to see whether another goblin-actor uses this one, run goblin-actor status"
			}
			return nil, command.Fail(command.ExitFailed, fmt.Errorf("listen on %s: %w", address, err), hint)
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

// newServer returns the server for clients.
func newServer(cfg *config.Config, g *actors.Gateway, e *serving.Security, pages *login.Pages, log *slog.Logger) *downstream.Server {
	server := downstream.NewServer(g.Front(), frontOptions(cfg, g, e, pages), log)
	e.OnNewKeys(server.HangUp)
	server.SetForwarded(cfg.Forwarded())
	return server
}

func frontOptions(cfg *config.Config, g *actors.Gateway, e *serving.Security, pages *login.Pages) downstream.Options {
	return downstream.Options{
		AllowedOrigins: cfg.AllowedOrigins, AllowedHosts: cfg.Hosts(),
		MaxMessageBytes: int(cfg.Limits.MaxMessageBytes), Budget: g.Budget(),
		Other: pages.Beside(admin.Public(g, g.Metrics())), Admission: e.Admission(), TLS: e.TLS(), TraceHeaders: g.Traced(),
	}
}

// openAdmin serves the admin interface to the other nodes of the cluster, if n is not nil, and on the admin socket for the port. If the
// socket cannot be opened, openAdmin logs a warning and returns nil: the gateway works without one.
func openAdmin(l net.Listener, source status.Local, n *node.Node, log *slog.Logger, routes []admin.Route) *admin.Server {
	n.ServeAdmin(source, source.Perform, log, routes...)
	port := l.Addr().(*net.TCPAddr).Port
	path, err := status.SocketPath(port, os.Getenv)
	if err == nil {
		var socket *admin.Server
		if socket, err = admin.Listen(path, source, source.Perform, n.AdminDialer(), log, routes...); err == nil {
			return socket
		}
	}
	log.Warn("the admin socket cannot be opened; goblin-actor status will not find this gateway", "err", err)
	return nil
}

// welcome explains to a first-time user what is running and how to add a server.
func welcome(w io.Writer, address string) {
	fmt.Fprintf(w, `Running the demo servers notes and clock, without a configuration.
Try them: %s list tools --connect %s
To add your own server, create goblin.yaml in this directory and restart:

  mcpServers:
    files:
      command: npx
      args: [-y, "@modelcontextprotocol/server-filesystem", "."]

`, program.Name(), address)
}

// errDrain is the cause of a context that the drain command ended.
var errDrain = errors.New("requested by goblin-actor drain")

// endSignals returns a channel for the signals that end the gateway. handBack restores their default behavior and
// closes the channel.
func endSignals() (signals <-chan os.Signal, handBack func()) {
	c := make(chan os.Signal, 2)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	return c, func() {
		signal.Stop(c)
		close(c)
	}
}

// Log messages for the end of the gateway.
const (
	logDraining = "draining"
	logStopped  = "stopped"
)

// waitForEnd blocks until a signal, the context, the user of the terminal UI or a listener ends the gateway.
func waitForEnd(ctx context.Context, signals <-chan os.Signal, failed <-chan error, left <-chan struct{}, log *slog.Logger) error {
	select {
	case s := <-signals:
		log.Info(logDraining, "signal", s.String())
		go secondSignal(signals)
	case <-ctx.Done():
		log.Info(logDraining, "cause", context.Cause(ctx))
		go func() {
			<-signals // the first signal requests the drain that is in progress
			secondSignal(signals)
		}()
	case <-left:
	case err := <-failed:
		if err != nil {
			return fmt.Errorf("serve: %w", err)
		}
	}
	return nil
}

// secondSignal waits for another signal and then ends the process and its servers at once. It returns when the channel
// is closed.
func secondSignal(signals <-chan os.Signal) {
	if _, ok := <-signals; !ok {
		return
	}
	process.KillAll()
	os.Exit(command.ExitInterrupted)
}

// end drains and stops everything. Open streams end at once; running calls have the duration drain to finish. In a cluster, node n
// forwards requests that still arrive to other nodes.
func end(drain time.Duration, g *actors.Gateway, n *node.Node, server *downstream.Server, socket *admin.Server, log *slog.Logger) error {
	notifySystemd(daemon.SdNotifyStopping, log)
	started := time.Now()
	if n != nil {
		server.Retire()
	}
	err := serving.Stop(g, drain)
	n.Finish(server, time.Until(started.Add(drain)))
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err = errors.Join(err, server.Shutdown(ctx))
	if socket != nil {
		err = errors.Join(err, socket.Close())
	}
	log.Info(logStopped, "after", time.Since(started).Round(time.Millisecond).String())
	return err
}

// serveStdio serves one client on in and out until EOF or until ctx ends. project is the client's project; "" leaves
// the choice to the client.
func serveStdio(ctx context.Context, g *actors.Gateway, cfg *config.Config, e *serving.Security, project string, in io.Reader, out io.Writer, log *slog.Logger) error {
	front, err := g.Stdio(ctx, project)
	if err != nil {
		return err
	}
	return downstream.ServeStdio(ctx, in, out, front, frontOptions(cfg, g, e, nil), log)
}
