package process

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// ClusterOptions describes a cluster of gateways.
type ClusterOptions struct {
	Nodes    int            // number of nodes, named a, b, c, …; the nth has the address 127.0.0.n
	Voters   bool           // all nodes keep records
	Servers  map[string]any // mcpServers of all nodes
	Settings map[string]any // the rest of the configuration, except for the section cluster
}

// Cluster starts the nodes of a cluster and waits until they are ready. Each has its own files below dir, whose path must be short. The
// nodes may not know each other yet.
func (g *Group) Cluster(dir string, o ClusterOptions) ([]*Gateway, error) {
	ports, err := freePorts()
	if err != nil {
		return nil, err
	}
	secret := rand.Text() + rand.Text()
	var names, seeds []string
	for i := range o.Nodes {
		names = append(names, string(rune('a'+i)))
		seeds = append(seeds, net.JoinHostPort(nodeHost(i), ports[1]))
	}
	section := map[string]any{"name": "bench", "node": "${NODE}", "listen": "${NODE_HOST}:" + ports[0], "routes": "${NODE_HOST}:" + ports[1],
		"seeds": seeds, "secrets": []string{"${NODE_SECRET}"}}
	if o.Voters {
		section["voters"] = names
	}
	settings := map[string]any{"pageSize": defaultPageSize, "shutdown": map[string]any{"drain": "0s"}}
	maps.Copy(settings, o.Settings)
	settings["listen"], settings["cluster"] = "${NODE_HOST}:0", section
	var nodes []*Gateway
	for i, name := range names {
		own := filepath.Join(dir, name)
		if err := os.MkdirAll(own, 0o700); err != nil {
			return nil, err
		}
		env := append([]string{"NODE=" + name, "NODE_HOST=" + nodeHost(i), "NODE_SECRET=" + secret}, g.Env...)
		n, err := runGateway(g.ctx, env, g.gateway, []string{"serve"}, own, o.Servers, settings)
		if err != nil {
			return nil, err
		}
		g.running = append(g.running, n.Process)
		nodes = append(nodes, n)
	}
	for _, n := range nodes {
		if err := n.WaitReady(g.ctx); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, n.Stderr)
		}
	}
	return nodes, nil
}

// nodeHost returns the address of the ith node, counted from 0.
func nodeHost(i int) string { return "127.0.0." + strconv.Itoa(i+1) }

// freePorts returns two TCP ports that are probably free on all loopback addresses.
func freePorts() (ports [2]string, err error) {
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return ports, err
		}
		defer l.Close()
		if _, ports[i], err = net.SplitHostPort(l.Addr().String()); err != nil {
			return ports, err
		}
	}
	return ports, nil
}
