package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"goblin-actor/bench/report"
)

// ClusterKinds are the quantities of a cluster that RunCluster measures.
var ClusterKinds = []string{"three", "guest", "one", "hop", "stream", "idle", "start"}

// ClusterOptions configures RunCluster. Default completes them.
type ClusterOptions struct {
	What    []string      // elements of ClusterKinds; default all
	Before  string        // an earlier build, which is compared with the gateway without a cluster; "" = none
	Rounds  int           // interleaved turns of each load; default 60
	Turn    time.Duration // length of a turn; default 100 ms
	Streams int           // stream: number of idle streams; default 1000
	Idle    time.Duration // idle: how long idle gateways are measured; default 10 s
	Starts  int           // start: starts of each kind; default 15
	Program string        // this binary
	Gateway string        // a binary to start as the gateway; "" = Program
	Commit  string        // for the report
	Command string        // for the report
}

// Default returns o with zero fields replaced by their defaults.
func (o ClusterOptions) Default() ClusterOptions {
	if len(o.What) == 0 {
		o.What = ClusterKinds
	}
	o.Rounds, o.Turn = cmp.Or(o.Rounds, 60), cmp.Or(o.Turn, 100*time.Millisecond)
	o.Streams, o.Idle, o.Starts = cmp.Or(o.Streams, 1000), cmp.Or(o.Idle, 10*time.Second), cmp.Or(o.Starts, 15)
	return o
}

// gateway returns the binary that is started as the gateway.
func (o ClusterOptions) gateway() string { return cmp.Or(o.Gateway, o.Program) }

// Validate returns all errors at once.
func (o ClusterOptions) Validate() error {
	faults := []error{allOf("of", o.What, ClusterKinds)}
	if runtime.GOOS != "linux" {
		faults = append(faults, errors.New("bench cluster needs Linux, for the CPU time of threads and for more than one loopback address"))
	}
	if o.Rounds < 1 || o.Rounds > 1000 || o.Starts < 1 || o.Starts > 1000 || o.Streams < 1 || o.Streams > 10000 || o.Turn <= 0 || o.Idle <= 0 {
		faults = append(faults, errors.New("rounds, starts, streams, turn and idle: expected values above 0, and at most 1000 rounds, 1000 starts and 10000 streams"))
	}
	return errors.Join(faults...)
}

// RunCluster measures gateways that form a cluster and returns the report. It blocks until it is done or ctx ends, and stops all
// processes it started.
func RunCluster(ctx context.Context, o ClusterOptions, progress io.Writer) (*report.Report, error) {
	o = o.Default()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	base := Options{Kind: "cluster", Program: o.Program, Gateway: o.Gateway, Commit: o.Commit, Command: o.Command, Servers: 1, Tools: 1}
	return runIn(ctx, base, progress, func(s *setup, result *report.Report) error {
		result.Cluster = &report.Cluster{}
		c := &clusterRun{setup: s, o: o, result: result.Cluster}
		parts := map[string]func() error{"three": c.three, "guest": c.guest, "one": c.one, "hop": c.hop, "stream": c.stream, "idle": c.idle, "start": c.start}
		for _, what := range o.What {
			fmt.Fprintf(progress, "bench cluster: %s\n", what)
			if err := s.Scope(parts[what]); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
		}
		return nil
	})
}
