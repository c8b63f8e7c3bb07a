package benchmark

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"goblin-actor/bench"
	"goblin-actor/bench/process"
	"goblin-actor/bench/report"
)

func newBenchGrowth() *cobra.Command {
	var o bench.GrowthOptions
	cmd := &cobra.Command{
		Use:   "growth",
		Short: "Measure the cost of a call as sessions, servers, tools and calls grow",
		Long: `growth measures a gateway with 1 to 10 000 sessions with an open stream, 1 to 100 servers, 10 to 100 000 tools, and 1 to 1 000
calls in flight. For each size it reports the CPU time per call, the memory per additional unit, and the CPU time per listed tool. It
also measures how much the checks of tool definitions delay publishing 1 000 and 10 000 tools, initially and after a change. A cost is
reported as a fault if it grows faster than linearly: if the cost per unit more than doubles at ten times the size.`,
		Example: "  goblin-actor bench growth --of sessions,flight --most 1000",
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.What, "of", nil, "what to increase: "+strings.Join(bench.GrowthKinds, ", ")+" (default all)")
	flags.StringVar(&o.Behind, "behind", process.ServerKinds[0], "servers behind the gateway: "+strings.Join(process.ServerKinds, ", "))
	flags.StringVar(&o.Clients, "clients", process.Eras[0], "era of the clients: "+strings.Join(process.Eras, ", "))
	flags.IntVar(&o.Most, "most", 0, "skip sizes above this (default: no maximum)")
	flags.DurationVar(&o.Duration, "duration", 2*time.Second, "how long to send calls at each size")
	return newMeasure(cmd, func() error { return o.Default().Validate() },
		func(ctx context.Context, program, commit, command string, progress io.Writer) (*report.Report, error) {
			o.Program, o.Commit, o.Command = program, commit, command
			return bench.RunGrowth(ctx, o, progress)
		})
}
