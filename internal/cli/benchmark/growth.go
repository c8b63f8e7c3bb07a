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
		Short: "What a call and one more of everything cost when there is much of it",
		Long: `growth measures a gateway with 1 to 10 000 sessions that hold a stream open, 1 to 100 servers, 10 to 100 000 tools, and 1 to 1 000
calls in flight: processor time of a call, memory for each more, and of listing each item; and how much longer it takes to publish 10 000 tools, for
the first time and after a change, because their definitions are checked. What grows faster than linear from one size to
the next is named as a fault: at ten times as many, each costs twice as much.`,
		Example: "  goblin-actor bench growth --of sessions,flight --most 1000",
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.What, "of", nil, "what there is more of: "+strings.Join(bench.GrowthKinds, ", ")+" (default all)")
	flags.StringVar(&o.Behind, "behind", process.ServerKinds[0], "servers behind the gateway: "+strings.Join(process.ServerKinds, ", "))
	flags.StringVar(&o.Clients, "clients", process.Eras[0], "era of the clients: "+strings.Join(process.Eras, ", "))
	flags.IntVar(&o.Most, "most", 0, "leave out sizes above this one (default none)")
	flags.DurationVar(&o.Duration, "duration", 2*time.Second, "time of calls at each size")
	return newMeasure(cmd, func() error { return o.Default().Validate() },
		func(ctx context.Context, program, commit, command string, progress io.Writer) (*report.Report, error) {
			o.Program, o.Commit, o.Command = program, commit, command
			return bench.RunGrowth(ctx, o, progress)
		})
}
