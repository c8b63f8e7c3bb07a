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
		Short: "What callers notice when a server or a client breaks",
		Long: `faults breaks one of two servers behind a gateway, or has clients misbehave, while clients call both at a constant rate.

  kill    the server's process is killed (-9); over HTTP it is started again at once
  hang    the server answers nothing for a while; its calls time out after a second
  slow    clients ask for 1 MiB each and do not read it
  leave   clients cut their connection in the middle of a call, one after the other
  flood   the server changes its list of tools, and says so, as fast as it can

Measured are the time until a call has an error, from the end of the fault until one goes well again (flood: until the last list is
listed), the p99 of calls to the other server meanwhile, and the memory the gateway holds. Every request must have its answer.`,
		Example: "  goblin-actor bench faults --faults kill,hang --behind stdio,http-modern",
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.What, "faults", nil, "what to break: "+strings.Join(bench.FaultKinds, ", ")+" (default all)")
	flags.StringSliceVar(&o.Behind, "behind", nil, "servers to break: "+strings.Join(process.ServerKinds, ", ")+" (default http,stdio)")
	flags.StringVar(&o.Clients, "clients", "legacy", "era of the clients: "+strings.Join(process.Eras, ", "))
	flags.DurationVar(&o.Calm, "calm", 2*time.Second, "time before each fault, for comparison")
	flags.DurationVar(&o.Lasts, "lasts", 2*time.Second, "how long a server hangs or floods")
	flags.IntVar(&o.Readers, "readers", 64, "slow: clients that do not read")
	return newMeasure(cmd, func() error { return o.Default().Validate() },
		func(ctx context.Context, program, commit, command string, progress io.Writer) (*report.Report, error) {
			o.Program, o.Commit, o.Command = program, commit, command
			return bench.RunFaults(ctx, o, progress)
		})
}
