package gatetest

import "testing"

// Balanced is a gateway that tests use: one process, or a cluster behind a balancer.
type Balanced struct {
	URL   string   // URL of the MCP endpoint
	Base  string   // http://host:port
	Bases []string // of all nodes, without the balancer
	Dirs  []string // the runtime and state directories of all nodes
}

// BalancedOptions describes the cluster of ServeBalanced.
type BalancedOptions struct {
	Binary   string // the gateway
	Dir      string // a short directory for the files of all nodes
	Config   string // text of the configuration, YAML or JSON
	Balancer string // one of Balancers
	NATS     bool   // the nodes use an external nats-server
}

// ServeBalanced starts three nodes behind a balancer, and waits until each of them sees the others. Servers with a command run on the
// first node, unless they have the key run. At the end of the test, all nodes must drain and exit with status 0. The test is skipped if
// the balancer or nats-server is not installed; see NeedBalancer.
func ServeBalanced(t *testing.T, o BalancedOptions) Balanced {
	t.Helper()
	NeedBalancer(t, o.Balancer)
	return serveBalanced(t, o)
}
