// Package bench measures the gateway against what would stand in its place: nothing (direct) and a pooled
// httputil.ReverseProxy, all behind the same load and in front of the same servers.
//
// What runs are processes of their own, on loopback, all from this one binary: raw-frame MCP servers that answer from
// ready bytes, the reverse proxy, and the gateway as a user starts it. The load generator is a closed loop: each client has
// one keep-alive connection and sends its next request when the answer to the last has been read and compared byte for byte.
// A claim is a ratio: rounds of all targets are interleaved, each round is divided by the direct one next to it, and the
// median of these ratios is reported, so that a noisy machine disturbs all alike.
//
//	report, err := bench.Run(ctx, bench.Options{Kind: "calls", Concurrency: []int{1, 8, 64}}, os.Stderr)
//	report.WriteTable(os.Stdout)
//
// A Run ends all it started, also when ctx ends.
package bench
