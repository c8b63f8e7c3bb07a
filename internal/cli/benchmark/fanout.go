package benchmark

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/bench"
	"goblin-actor/bench/process"
	"goblin-actor/bench/report"
)

func newBenchFanout() *cobra.Command {
	var o bench.FanoutOptions
	cmd := &cobra.Command{
		Use:   "fanout",
		Short: "Measure how a server's changes reach all subscribers",
		Long: `fanout opens client streams to a gateway, and as many streams directly to a server. Servers publish changes one at a time. fanout
measures the time until the last stream has received each change, and counts lost, duplicate and wrong notifications.`,
		Example: "  goblin-actor bench fanout --subscribers 1000,5000 --behind http,stdio,http-modern --change updated,list",
	}
	flags := cmd.Flags()
	flags.IntSliceVar(&o.Subscribers, "subscribers", nil, "concurrent streams, one measurement each (default 100,1000)")
	flags.IntVar(&o.Changes, "changes", 100, "changes per measurement")
	flags.StringSliceVar(&o.Clients, "clients", nil, "eras of the clients: "+strings.Join(process.Eras, ", ")+" (default both)")
	flags.StringSliceVar(&o.Behind, "behind", nil, "servers behind the gateway: "+strings.Join(process.ServerKinds, ", ")+" (default http,stdio)")
	flags.StringSliceVar(&o.What, "change", nil, "what changes: "+strings.Join(bench.FanoutChanges, ", ")+" (default updated)")
	return newMeasure(cmd, func() error { return o.Default().Validate() },
		func(ctx context.Context, program, commit, command string, progress io.Writer) (*report.Report, error) {
			o.Program, o.Commit, o.Command = program, commit, command
			return bench.RunFanout(ctx, o, progress)
		})
}
