package benchmark

import (
	"cmp"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"goblin-actor/bench"
	"goblin-actor/bench/report"
	"goblin-actor/bench/server"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/serve"
)

// NewCommand returns the command bench.
func NewCommand() *cobra.Command {
	o := bench.Options{}
	var self bool
	var backends string
	var output benchOutput
	cmd := &cobra.Command{
		Use:   "bench " + strings.Join(bench.Kinds, "|"),
		Short: "Measure the gateway's performance",
		Long: `Start raw MCP servers, a gateway and a reverse proxy as separate processes, apply the same load to each of them in interleaved
rounds, and report medians and ratios.

  calls   tools/call of 200 bytes
  big     tools/call with a result of 1 MiB
  list    tools/list of 1000 tools from 20 servers (--servers, --tools); "× static" is relative to a static handler that writes the same bytes
  idle    memory of sessions with an open stream
  cold    the first tools/list of a newly started gateway, from its state file
  cells   calls of clients of each era to servers of each era; "× legacy" is relative to legacy clients of legacy servers
  identity  the cost per call of keys, roles and the audit log; "× gateway" is relative to a gateway without authentication
  telemetry  the cost per call of traces, metrics and logs; "× gateway" is relative to a gateway that exports nothing`,
		Example:   "  goblin-actor bench calls --self --compare direct,reverse-proxy --concurrency 1,8,64 --assert 'ratio(calls,c=64) >= 1.2'",
		Args:      command.Args(1, 1, "what to measure: "+strings.Join(bench.Kinds, ", ")),
		ValidArgs: bench.Kinds,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !self {
				return command.UsageError("add --self", "--self is required: bench measures a gateway that it starts itself")
			}
			o.Kind = args[0]
			return runBench(cmd, o, backends, output)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&self, "self", false, "measure a gateway started for this run")
	flags.StringSliceVar(&o.Compare, "compare", []string{report.Direct, report.ReverseProxy}, "what to compare with: "+strings.Join(report.Comparable, ", "))
	flags.IntSliceVar(&o.Concurrency, "concurrency", nil, "concurrent clients, one measurement each (default 1,8,64; big, list and cells: 8, identity and telemetry: 64)")
	flags.DurationVar(&o.Duration, "duration", 10*time.Second, "measured time per target and concurrency")
	flags.IntVar(&o.Rounds, "rounds", 5, "interleaved rounds that the duration is divided into")
	flags.IntVar(&o.Sessions, "sessions", 2000, "idle: concurrent sessions")
	flags.IntVar(&o.Servers, "servers", 20, "list: servers behind the gateway")
	flags.IntVar(&o.Tools, "tools", 50, "list: tools per server, all on one page")
	flags.IntVar(&o.Starts, "starts", 20, "cold: starts per size")
	flags.StringVar(&backends, "backends", "stdio:1,http:1", "servers behind the gateway")
	flags.StringVar(&o.Gateway, "gateway", "", "another build of this program to start as the gateway; everything else uses this build")
	output.flags(cmd)
	cmd.AddCommand(newBenchCluster(), newBenchFanout(), newBenchFaults(), newBenchGrowth(), newBenchLimits())
	cmd.AddCommand(newBenchCompare(), newBenchServer(), newBenchProxy(), newBenchForwarder(), newBenchStatic(), newBenchCollector(), serve.NewUnchecked())
	return cmd
}

func runBench(cmd *cobra.Command, o bench.Options, backends string, output benchOutput) error {
	var err error
	if o.HTTP, o.Stdio, err = bench.ParseBackends(backends); err != nil {
		return command.UsageError(command.HelpHint(cmd), "%w", err)
	}
	if err := o.Default().Validate(); err != nil {
		return command.UsageError(command.HelpHint(cmd), "%w", err)
	}
	assertions, err := output.assertions(cmd, o.Kind, o.Default().Concurrency)
	if err != nil {
		return err
	}
	if o.Program, err = os.Executable(); err != nil {
		return err
	}
	o.Commit = cmp.Or(program.Commit(), program.Version())
	o.Command = benchCommand(os.Args[1:])
	ctx, stop := command.Interruptible(cmd)
	defer stop()
	progress := newBenchProgress(cmd.ErrOrStderr())
	result, err := bench.Run(ctx, o, progress)
	progress.bar.Clear()
	if err != nil {
		return err
	}
	return output.finish(cmd, result, assertions)
}

// The hidden commands below run as separate processes during a measurement. Each ends when its stdin is closed.

func newBenchServer() *cobra.Command {
	var o server.Options
	var stdio bool
	cmd := &cobra.Command{
		Use:    "server",
		Short:  "A raw MCP server that sends prepared responses",
		Hidden: true,
		Args:   command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if stdio {
				return server.ServeStdio(cmd.InOrStdin(), cmd.OutOrStdout(), o)
			}
			return server.ServeHTTP(cmd.InOrStdin(), cmd.OutOrStdout(), o)
		},
	}
	cmd.Flags().BoolVar(&stdio, "stdio", false, "serve stdio instead of HTTP")
	cmd.Flags().IntVar(&o.Tools, "tools", 0, "number of listed tools")
	cmd.Flags().IntVar(&o.ToolBytes, "tool-bytes", 0, "minimum size of each listed tool, in bytes")
	cmd.Flags().StringVar(&o.Listen, "listen", "", "address to serve HTTP on")
	cmd.Flags().StringVar(&o.Control, "control", "", "unix socket for commands")
	cmd.Flags().BoolVar(&o.Events, "events", false, "answer calls with a stream of one event")
	cmd.Flags().BoolVar(&o.SSE, "sse", false, "use HTTP+SSE of 2024-11-05")
	cmd.Flags().DurationVar(&o.Delay, "delay", 0, "delay of every call")
	cmd.Flags().BoolVar(&o.Modern, "modern", false, "support 2026-07-28 only")
	return cmd
}

func newBenchProxy() *cobra.Command {
	return &cobra.Command{
		Use:    "proxy URL",
		Short:  "A pooled httputil.ReverseProxy",
		Hidden: true,
		Args:   command.Args(1, 1, "the URL to forward to"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return server.ServeProxy(cmd.InOrStdin(), cmd.OutOrStdout(), args[0])
		},
	}
}

func newBenchForwarder() *cobra.Command {
	var whole bool
	cmd := &cobra.Command{
		Use:    "forwarder URL",
		Short:  "A forwarder that only copies bytes",
		Hidden: true,
		Args:   command.Args(1, 1, "the URL to forward to"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return server.ServeForwarder(cmd.InOrStdin(), cmd.OutOrStdout(), args[0], whole)
		},
	}
	cmd.Flags().BoolVar(&whole, "whole", false, "forward each response only after all of it has been received")
	return cmd
}

func newBenchCollector() *cobra.Command {
	var hangs bool
	cmd := &cobra.Command{
		Use:    "collector",
		Short:  "An OTLP receiver that discards everything",
		Hidden: true,
		Args:   command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return server.ServeCollector(cmd.InOrStdin(), cmd.OutOrStdout(), hangs)
		},
	}
	cmd.Flags().BoolVar(&hangs, "hang", false, "never answer")
	return cmd
}

func newBenchStatic() *cobra.Command {
	return &cobra.Command{
		Use:    "static FILE",
		Short:  "A handler that answers every request with the same bytes",
		Hidden: true,
		Args:   command.Args(1, 1, "the file to serve"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return server.ServeStatic(cmd.InOrStdin(), cmd.OutOrStdout(), args[0])
		},
	}
}
