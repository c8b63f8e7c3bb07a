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

// holderFunc returns the node that runs a server with run: one, or "" if none is known to. token is that of the lease if it is this node.
type holderFunc func(server string) (node string, token uint64)

// place prepares the servers for this node: a server that another node runs becomes one with a URL there. A member of a group that runs on
// one node becomes one with a URL there on all nodes, also on the node that runs it. That node gets an additional server for it.
func place(cfg *config.Config, node string, holder holderFunc) {
	first := map[string]config.Server{} // by group, before it is placed
	var members []config.Server
	for i := range cfg.Servers {
		s := &cfg.Servers[i]
		s.Shared = s.Run == config.RunEach && len(s.URLs) > 0
		if _, known := first[s.Group]; s.Group != "" && !known {
			first[s.Group] = *s
		}
		switch {
		case s.Fault != "" || s.Run == "" || s.Run == config.RunEach:
		case s.Group != "":
			members = append(members, placeMember(s, first[s.Group], node, holder)...)
		case s.Run == config.RunOne:
			placeOne(s, node, holder)
		case s.Run != node:
			*s = hop(*s, s.Run)
		}
	}
	cfg.Servers = append(cfg.Servers, members...)
}

func placeOne(s *config.Server, node string, holder holderFunc) {
	at, token := holder(s.Name)
	if at != node {
		away := *s
		*s = hop(*s, cmp.Or(at, noNode))
		s.Away = &away
		return
	}
	setFence(s, token)
}

func setFence(s *config.Server, token uint64) {
	s.Env = maps.Clone(s.Env)
	if s.Env == nil {
		s.Env = map[string]string{}
	}
	s.Env[fenceVariable] = strconv.FormatUint(token, 10)
}

// placeMember makes a member of a group one with a URL at the node that runs it. If that is this node, it returns the server that stands
// for the member here.
func placeMember(s *config.Server, first config.Server, node string, holder holderFunc) (here []config.Server) {
	member, at, token := *s, s.Run, uint64(0)
	if s.Run == config.RunOne {
		at, token = holder(s.Name)
	}
	*s = reached(*s, cmp.Or(at, noNode))
	s.Isolation, s.Auth.As, s.Auth.CatalogAs = first.Isolation, first.Auth.As, first.Auth.CatalogAs // the first member decides for the group
	switch {
	case at != node && member.Run == config.RunOne:
		s.Away = &member
	case at == node && !member.Disabled:
		server := config.MemberServer(first, member)
		if server.Run == config.RunOne {
			setFence(&server, token)
		}
		server.ForwardHeaders = nil
		for _, h := range first.ForwardHeaders { // the nodes have renamed the headers of the client
			server.ForwardHeaders = append(server.ForwardHeaders, config.ForwardHeader{From: h.To, To: h.To})
		}
		return []config.Server{server}
	}
	return nil
}

// reached returns a server without all that describes how the node that runs it reaches it, with its URL at that node instead.
func reached(s config.Server, node string) config.Server {
	s.HopReplicas = s.ReplicaCount()
	s.Hop, s.URLs, s.Type = node, []string{s.HopURL(node)}, "http"
	s.Command, s.Args, s.Env, s.EnvFiles, s.InheritEnv, s.Cwd, s.Headers = "", nil, nil, nil, false, "", nil
	s.Auth = config.ServerAuth{Type: "none", As: "shared", CatalogAs: "shared"}
	s.Replicas, s.Reconnect.Max = 1, max(s.Reconnect.Min, min(s.Reconnect.Max, reconnectMax))
	return s
}

// hop returns the configuration with which this node uses a server that another node runs. It omits what that node does for the calls
// of all nodes: limits, logins, replicas and their choice, and retries.
func hop(s config.Server, node string) config.Server {
	s = reached(s, node)
	s.MaxConcurrent, s.Retry.InFlight, s.Startup = 0, "never", "eager"
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
