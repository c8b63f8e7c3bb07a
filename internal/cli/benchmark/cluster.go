package benchmark

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"goblin-actor/bench"
	"goblin-actor/bench/report"
)

func newBenchCluster() *cobra.Command {
	var o bench.ClusterOptions
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Measure the cost of gateways that form a cluster",
		Long: `cluster starts gateways without a cluster, single nodes, and clusters of three nodes on 127.0.0.1, 127.0.0.2 and 127.0.0.3. It measures
them in turns of a tenth of a second. The clients send each request to the next node themselves, as a load balancer would. CPU time is that of the
gateways' threads. ÷ compares the CPU time of a call.

  three   the capacity of three nodes as a multiple of one gateway's: three times the CPU time per call of one gateway ÷ that of the
          three nodes, with the same number of clients, and with the same rate of calls at each gateway (paced); also three nodes ÷
          three gateways without a cluster
  guest   calls at node b of sessions opened at node a ÷ calls at b of sessions opened there
  one     a cluster with one node ÷ a gateway without a cluster; with --before, that gateway ÷ the earlier build
  hop     calls of a server with run: a at node b ÷ calls at a: added latency, and CPU time of both nodes
  stream  memory of idle GET streams that one node relays to another, in both nodes
  idle    CPU time and memory of idle nodes, without and with voters
  start   time from process start until the gateway listens; with --before, compared with the earlier build

It takes about three minutes, and needs Linux.`,
		Example: "  goblin-actor bench cluster --of hop --rounds 200 --assert 'ratio(cluster,hop,c=32) <= 3'",
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.What, "of", nil, "what to measure: "+strings.Join(bench.ClusterKinds, ", ")+" (default all)")
	flags.StringVar(&o.Before, "before", "", "an earlier build of this program that is compared with the gateway without a cluster")
	flags.StringVar(&o.Gateway, "gateway", "", "another build of this program to start as the gateway; everything else uses this build")
	flags.IntVar(&o.Rounds, "rounds", 60, "interleaved turns of each load")
	flags.DurationVar(&o.Turn, "turn", 100*time.Millisecond, "length of a turn")
	flags.IntVar(&o.Streams, "streams", 1000, "stream: number of idle streams")
	flags.DurationVar(&o.Idle, "idle", 10*time.Second, "idle: how long idle gateways are measured")
	flags.IntVar(&o.Starts, "starts", 15, "start: number of starts of each kind")
	return newMeasure(cmd, func() error { return o.Default().Validate() },
		func(ctx context.Context, program, commit, command string, progress io.Writer) (*report.Report, error) {
			o.Program, o.Commit, o.Command = program, commit, command
			return bench.RunCluster(ctx, o, progress)
		})
}
