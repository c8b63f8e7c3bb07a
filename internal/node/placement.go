package node

import (
	"time"

	"goblin-actor/internal/config"
)

// reconnectMax is the longest pause between two attempts to reach a server that another node runs. When that node joins the
// cluster, the next attempt is made at once.
const reconnectMax = 10 * time.Second

// place prepares the servers for this node: a server that another node runs becomes one with a URL there. It marks the servers
// that this version cannot run in a cluster, so that no node starts them: those with run: one, and members of a group that run on
// one node only.
func place(cfg *config.Config, node string) {
	for i := range cfg.Servers {
		s := &cfg.Servers[i]
		switch {
		case s.Fault != "" || s.Run == "" || s.Run == config.RunEach:
		case s.Group != "":
			s.Fault = "run: " + s.Run + " does not work yet in a group; write run: each"
		case s.Run == config.RunOne:
			s.Fault = "run: one does not work yet; write run: each or the name of a node"
		case s.Run == node:
		default:
			*s = hop(*s)
		}
	}
}

// hop returns the configuration of a server that another node runs, as this node uses it. What that node does for all nodes is left
// out: limits, logins, replicas, the choice between them, and repeated calls.
func hop(s config.Server) config.Server {
	s.Hop, s.URLs, s.Type = s.Run, []string{s.HopURL(s.Run)}, "http"
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
