package node

import (
	"cmp"
	"maps"
	"strconv"
	"time"

	"goblin-actor/internal/config"
)

// reconnectMax is the longest pause between two attempts to reach a server that another node runs. When that node joins the
// cluster, the next attempt is made at once.
const reconnectMax = 10 * time.Second

// fenceVariable is the environment variable with the token of the lease (bus.Lease.Token), for the process of a server with run: one.
// The token rises each time a node takes the lease. So a store that remembers the largest one can refuse writes of an older process.
const fenceVariable = "GOBLIN_FENCE"

// noNode is the Hop of a server with run: one while no node runs it. No node can have this name.
const noNode = config.RunOne

// place prepares the servers for this node: a server that another node runs becomes one with a URL there. holder returns the node that
// runs a server with run: one, or "", and the token if it is this node. place marks the servers that this version cannot run in a
// cluster, so that no node starts them: members of a group that run on one node only.
func place(cfg *config.Config, node string, holder func(server string) (node string, token uint64)) {
	for i := range cfg.Servers {
		s := &cfg.Servers[i]
		s.Shared = s.Run == config.RunEach && len(s.URLs) > 0
		switch {
		case s.Fault != "" || s.Run == "" || s.Run == config.RunEach:
		case s.Group != "":
			s.Fault = "run: " + s.Run + " does not work yet in a group; write run: each"
		case s.Run == config.RunOne:
			placeOne(s, node, holder)
		case s.Run != node:
			*s = hop(*s, s.Run)
		}
	}
}

func placeOne(s *config.Server, node string, holder func(server string) (node string, token uint64)) {
	at, token := holder(s.Name)
	if at != node {
		away := *s
		*s = hop(*s, cmp.Or(at, noNode))
		s.Away = &away
		return
	}
	s.Env = maps.Clone(s.Env)
	if s.Env == nil {
		s.Env = map[string]string{}
	}
	s.Env[fenceVariable] = strconv.FormatUint(token, 10)
}

// hop returns the configuration with which this node uses a server that another node runs. It omits what that node does for the calls
// of all nodes: limits, logins, replicas and their choice, and retries.
func hop(s config.Server, node string) config.Server {
	s.Hop, s.URLs, s.Type = node, []string{s.HopURL(node)}, "http"
	s.Command, s.Args, s.Env, s.EnvFiles, s.InheritEnv, s.Cwd, s.Headers = "", nil, nil, nil, false, "", nil
	s.Auth = config.ServerAuth{Type: "none", As: "shared", CatalogAs: "shared"}
	s.Replicas, s.MaxConcurrent, s.Retry.InFlight = 1, 0, "never"
	s.Startup, s.Reconnect.Max = "eager", max(s.Reconnect.Min, min(s.Reconnect.Max, reconnectMax))
	if s.Isolation == "leased" {
		s.Isolation = "class"
	}
	var forward []config.ForwardHeader
	for _, h := range s.ForwardHeaders { // the other node reads the headers of the client
		forward = append(forward, config.ForwardHeader{From: h.From, To: h.From})
	}
	s.ForwardHeaders = forward
	return s
}
