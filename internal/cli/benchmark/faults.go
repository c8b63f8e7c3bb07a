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

func newBenchFaults() *cobra.Command {
	var o bench.FaultsOptions
	cmd := &cobra.Command{
		Use:   "faults",
		Short: "Measure the effects of failing servers and clients",
		Long: `faults injects faults into one of two servers behind a gateway, or makes clients misbehave, while clients call both servers at a
constant rate.

  kill    kill the server's process (-9); over HTTP it is restarted immediately
  hang    the server sends no responses for a while; its calls time out after a second
  slow    clients request 1 MiB each and do not read it
  leave   clients disconnect in the middle of a call, one after the other
  flood   the server changes its list of tools, and announces it, as fast as it can

faults measures the time until a call fails, the time from the end of the fault until a call succeeds again (flood: until clients get
the last list), the p99 of calls to the other server meanwhile, and the memory of the gateway. Every request must get a response.`,
		Example: "  goblin-actor bench faults --faults kill,hang --behind stdio,http-modern",
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.What, "faults", nil, "faults to inject: "+strings.Join(bench.FaultKinds, ", ")+" (default all)")
	flags.StringSliceVar(&o.Behind, "behind", nil, "kinds of the faulty server: "+strings.Join(process.ServerKinds, ", ")+" (default http,stdio)")
	flags.StringVar(&o.Clients, "clients", "legacy", "era of the clients: "+strings.Join(process.Eras, ", "))
	flags.DurationVar(&o.Calm, "calm", 2*time.Second, "undisturbed time before each fault, for comparison")
	flags.DurationVar(&o.Lasts, "lasts", 2*time.Second, "how long a fault other than kill lasts")
	flags.IntVar(&o.Readers, "readers", 64, "slow: number of clients that do not read")
	return newMeasure(cmd, func() error { return o.Default().Validate() },
		func(ctx context.Context, program, commit, command string, progress io.Writer) (*report.Report, error) {
			o.Program, o.Commit, o.Command = program, commit, command
			return bench.RunFaults(ctx, o, progress)
		})
}
