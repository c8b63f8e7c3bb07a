package benchmark

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"goblin-actor/bench/limits"
	"goblin-actor/bench/report"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/client"
	"goblin-actor/internal/config"
	"goblin-actor/internal/decode"
)

// limitFlags are the flags of bench limits.
type limitFlags struct {
	limits.Options
	target string
	key    target.KeyFlag
	self   bool
	output benchOutput
	format output.Format
}

func newBenchLimits() *cobra.Command {
	var f limitFlags
	cmd := &cobra.Command{
		Use:   "limits",
		Short: "Find how many clients this machine can serve, and the bottleneck",
		Long: `limits increases the number of clients (1, 2, 4, …) until throughput stops growing or p99 exceeds --p99, for each server and
each era of clients. It reports the knee (the fewest clients that reach about the maximum throughput), the bottleneck there,
and which configuration key to change.

Without --target it measures your own configuration, which it finds as serve does. It starts a gateway for the run, which
starts your servers, even if they are already running. Without a configuration, or with --self, it measures raw servers over
HTTP and stdio, which respond immediately.

limits calls only tools that are declared read-only (readOnlyHint), are not declared open-world (openWorldHint), and need no
arguments or only simple ones, and only on servers on this machine. To measure another tool, name it: --tool NAME --args
JSON. It is then called about ten thousand times.`,
		Example: `  goblin-actor bench limits
  goblin-actor bench limits --config goblin.yaml --p99 50ms
  goblin-actor bench limits --target 8730 --tool files_list_directory --args '{"path":"/srv"}'`,
		Args: command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return runLimits(cmd, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Config, "config", "", configfile.FlagHelp)
	flags.StringVar(&f.target, "target", "", "measure this MCP endpoint, for example another gateway (URL, host:port or port)")
	flags.BoolVar(&f.self, "self", false, "measure raw servers, even if there is a configuration")
	flags.StringArrayVar(&f.Headers, "header", nil, "\"Name: value\" sent with every request to --target (may be given several times)")
	f.key.AddFlags(cmd)
	flags.StringVar(&f.Tool, "tool", "", "the tool to call, by its public name")
	flags.StringVar(&f.Args, "args", "", "the arguments of --tool, as a JSON object")
	flags.StringSliceVar(&f.Only, "server", nil, "measure these servers only")
	flags.StringSliceVar(&f.Eras, "era", nil, "eras to measure: legacy, modern; with raw servers also pairs CLIENT-SERVER, such as legacy-modern (default legacy,modern)")
	flags.StringSliceVar(&f.Transports, "transport", nil, "transports of raw servers: http, stdio (default http,stdio)")
	flags.IntSliceVar(&f.Concurrent, "max-concurrent", nil, "maxConcurrent of raw servers, one measurement each (default 64)")
	flags.StringVar(&f.Raise, "raise", "clients", "what to raise: "+strings.Join(limits.Raises, ", ")+"; all except clients and rate need raw servers")
	flags.Float64SliceVar(&f.Rates, "rate", nil, "calls per second, one step each, regardless of responses (open loop)")
	flags.IntVar(&f.Max, "max", 0, "maximum value of the raised quantity (default 1024 for clients, else 10000)")
	flags.DurationVar(&f.P99, "p99", 0, "limit for the p99 latency; 0 = none")
	flags.DurationVar(&f.Time, "time", 60*time.Second, "approximate duration of the whole run")
	flags.DurationVar(&f.Step, "step", 0, "time per step (default depends on --time, at most 3s)")
	f.output.flags(cmd)
	f.format.AddFlag(cmd)
	return cmd
}

func runLimits(cmd *cobra.Command, f limitFlags) error {
	o := f.Options
	if len(o.Rates) > 0 && !cmd.Flags().Changed("raise") {
		o.Raise = "rate"
	}
	switch o.Raise {
	case "servers", "items", "sessions", "subscribers":
		if f.Config != "" || f.target != "" {
			return command.UsageError("remove --config or --target", "--raise %s needs raw servers and cannot be combined with --config or --target", o.Raise)
		}
		f.self = true
	}
	if err := f.find(cmd, &o); err != nil {
		return err
	}
	if err := o.Default().Validate(); err != nil {
		return command.UsageError(command.HelpHint(cmd), "%w", err)
	}
	assertions, err := f.output.assertions(cmd, cmd.Name(), nil)
	if err != nil {
		return err
	}
	if o.Program, err = os.Executable(); err != nil {
		return err
	}
	o.Commit = cmp.Or(program.Commit(), program.Version())
	o.Command = benchCommand(os.Args[1:])
	result, err := measureLimits(cmd, o)
	if err != nil {
		return err
	}
	if f.format == output.Table {
		return f.output.finish(cmd, result, assertions)
	}
	verdicts, err := f.output.save(result, assertions)
	if err != nil {
		return err
	}
	text, err := json.Marshal(result)
	if err != nil {
		return err
	}
	if err := f.format.Write(cmd.OutOrStdout(), text); err != nil {
		return err
	}
	return held(verdicts)
}

// measureLimits runs the measurement with a progress bar and adds hints to its errors.
func measureLimits(cmd *cobra.Command, o limits.Options) (*report.Report, error) {
	ctx, stop := command.Interruptible(cmd)
	defer stop()
	bar := terminal.NewProgressBar(cmd.ErrOrStderr())
	if bar.Live { // without a terminal, each series has its own line
		o.Progress = func(done, total float64, what string) {
			bar.Show(client.Progress{Done: float64(int(100 * done)), Total: 100 * total, Message: what})
		}
	}
	result, err := limits.Run(ctx, o, besideBar{bar, cmd.ErrOrStderr()})
	bar.Clear()
	switch {
	case errors.Is(err, limits.ErrNothing):
		return nil, command.Fail(command.ExitFailed, err, "name a tool that may be called about ten thousand times: --tool NAME --args JSON; or measure the gateway alone: --self")
	case errors.Is(err, limits.ErrNoTarget):
		return nil, command.Fail(command.ExitUnreachable, err, "check that the URL includes the path of the endpoint; to send a key, use --header \"Name: value\"")
	case errors.Is(err, limits.ErrNoTool):
		return nil, command.Fail(command.ExitFailed, err, `run "goblin-actor list tools" to see the tools`)
	}
	return result, err
}

// besideBar writes lines above the progress bar.
type besideBar struct {
	bar *terminal.ProgressBar
	w   io.Writer
}

func (b besideBar) Write(p []byte) (n int, err error) {
	b.bar.Aside(func() { n, err = b.w.Write([]byte(terminal.Clean(strings.TrimRight(string(p), "\n")) + "\n")) })
	return len(p), err
}

// find sets what to measure: the server at --target, the servers of the configuration that serve would use, or raw
// servers if there is neither or with --self.
func (f *limitFlags) find(cmd *cobra.Command, o *limits.Options) error {
	if n := len(o.Headers); n > 0 && f.target == "" {
		return command.UsageError("add --target URL", "--header needs --target")
	}
	if f.key.Given() && f.target == "" {
		return command.UsageError("add --target URL", "--key-file and --plain-http need --target")
	}
	if f.target != "" && (f.self || f.Config != "") || f.self && f.Config != "" {
		return command.UsageError("use only one of them", "--target, --config and --self cannot be combined")
	}
	if o.Args != "" {
		var object map[string]json.RawMessage
		if err := decode.Own([]byte(o.Args), "--args", &object); err != nil {
			return command.UsageError("pass a JSON object, for example --args '{\"path\":\"/srv\"}'", "%w", err)
		}
	}
	if f.target != "" {
		u, err := client.ParseAddress(f.target)
		if err != nil {
			return command.UsageError(command.HelpHint(cmd), "%w", err)
		}
		o.Target = u
		if slices.ContainsFunc(o.Headers, func(h string) bool { return strings.HasPrefix(strings.ToLower(h), "authorization:") }) {
			return nil
		}
		key, err := f.key.ForGateway(u, os.Getenv, cmd.ErrOrStderr())
		if key != "" {
			o.Headers = append(o.Headers, "Authorization: Bearer "+key)
		}
		return err
	}
	if f.self {
		return nil
	}
	cfg, err := configfile.Load(f.Config, cmd.ErrOrStderr())
	if err != nil || cfg == nil {
		return err
	}
	o.Config = configfile.Absolute(cfg.Path)
	for _, s := range config.Gather(cfg).Servers {
		if !s.Disabled && s.Fault == "" {
			o.Servers = append(o.Servers, limitServer(s))
		}
	}
	return nil
}

// limitServer returns the settings of a server that a measurement needs to know.
func limitServer(s config.Server) limits.Server {
	l := limits.Server{Name: s.Name, Stdio: s.Command != "", Local: s.Command != "", MaxConcurrent: s.MaxConcurrent, Replicas: s.ReplicaCount()}
	if s.Isolation == "leased" {
		l.Leased = s.MaxBackends
	}
	if s.Command == "" {
		l.Local = len(s.URLs) > 0 && everyLoopback(s.URLs)
	}
	if l.Local && len(s.URLs) == 1 && len(s.ForwardHeaders) == 0 && s.Type != "sse" {
		l.URL = s.URLs[0]
		for name, value := range s.Headers {
			l.Headers = append(l.Headers, name+": "+value)
		}
	}
	return l
}

func everyLoopback(urls []string) bool {
	for _, text := range urls {
		u, err := url.Parse(text)
		if err != nil {
			return false
		}
		if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return false
		}
	}
	return true
}
