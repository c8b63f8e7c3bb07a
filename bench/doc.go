// Package bench measures the gateway and compares it with its alternatives, a direct connection and a pooled
// httputil.ReverseProxy, under the same load and with the same servers.
//
// Servers, proxies and the gateway are separate processes on loopback, started from the same binary unless the options
// name another gateway. The raw MCP servers send prepared responses; the gateway runs as a user starts it.
//
// Where targets are compared, the load generator is a closed loop: each client has one keep-alive connection, and sends
// its next request when it has read the previous response and compared it byte for byte. The results are ratios: the
// rounds of all targets are interleaved, each round is divided by the adjacent round of the base (such as the direct
// connection), and the median of these ratios is reported, so that background load affects all targets alike.
//
//	bench/wire     the HTTP connections and MCP requests of the load generator
//	bench/server   the raw servers and proxies
//	bench/process  starting and stopping processes: servers, proxies, gateways
//	bench/load     clients: closed loops, constant rates, subscribers, clients of any MCP endpoint
//	bench/report   results: tables, files, plots, assertions, comparisons
//	bench/limits   the search for the highest load that a machine can sustain
//
//	report, err := bench.Run(ctx, bench.Options{Kind: "calls", Concurrency: []int{1, 8, 64}}, os.Stderr)
//	report.WriteTable(os.Stdout)
//
// Run stops all processes that it started, even when ctx ends.
package bench
