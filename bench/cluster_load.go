package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"goblin-actor/bench/load"
	"goblin-actor/bench/process"
	"goblin-actor/bench/report"
	"goblin-actor/bench/stats"
)

// clusterRun measures one quantity of a cluster after the other.
type clusterRun struct {
	*setup
	o      ClusterOptions
	result *report.Cluster
	dirs   int // number of directories of gateways
}

const (
	clusterNodes   = 3
	clusterClients = 32                     // clients of most measurements
	clusterMany    = 64                     // clients of a busy gateway
	pacedClients   = 16                     // clients of each gateway that gets calls at a constant rate
	pacedPause     = 8 * time.Millisecond   // between their calls
	clusterSettle  = 500 * time.Millisecond // after the start of a cluster, until its nodes know each other
)

// newDir creates a directory for gateways.
func (c *clusterRun) newDir() (string, error) {
	c.dirs++
	dir := filepath.Join(c.Dir, fmt.Sprint("n", c.dirs))
	return dir, os.Mkdir(dir, 0o700)
}

// gateway starts a gateway that is not in a cluster, from the given binary.
func (c *clusterRun) gateway(program string, servers map[string]any) (*process.Gateway, error) {
	dir, err := c.newDir()
	if err != nil {
		return nil, err
	}
	return c.GatewayOf(program, dir, servers, nil)
}

// web starts a server over HTTP and returns its entry in a configuration.
func (c *clusterRun) web() (map[string]any, error) {
	at, err := c.Helper("server")
	if err != nil {
		return nil, err
	}
	return map[string]any{"h0": map[string]any{"url": at.URL.String(), "type": "http", "maxConcurrent": 0}}, nil
}

// nodes starts a cluster.
func (c *clusterRun) nodes(o process.ClusterOptions) ([]*process.Gateway, error) {
	dir, err := c.newDir()
	if err != nil {
		return nil, err
	}
	return c.Cluster(dir, o)
}

// threeNodes starts three nodes and waits until they know each other.
func (c *clusterRun) threeNodes(servers map[string]any) (nodes []*process.Process, err error) {
	gates, err := c.nodes(process.ClusterOptions{Nodes: clusterNodes, Servers: servers})
	for _, g := range gates {
		nodes = append(nodes, g.Process)
	}
	c.Sleep(clusterSettle)
	return nodes, err
}

// measure applies the loads in turns.
func (c *clusterRun) measure(loads ...*load.Dealt) error {
	return load.MeasureDealt(c.ctx, loads, c.o.Turn, c.o.Rounds, c.step)
}

// compare adds a row about the CPU time per call of a load, divided by that of base. change computes the result of a round from the
// ratio.
func (c *clusterRun) compare(row report.ClusterRow, of, base *load.Dealt, change func(ratio float64) float64) {
	var now, before []float64
	for i := range of.Rounds {
		now, before = append(now, of.Rounds[i].CPU), append(before, base.Rounds[i].CPU)
		if before[i] > 0 {
			row.Each = append(row.Each, change(now[i]/before[i]))
		}
	}
	row.Clients, row.Unit, row.Of = of.Clients, "µs", "×"
	row.Now, row.Base, row.Result = stats.Median(now), stats.Median(before), stats.Median(row.Each)
	c.result.Rows = append(c.result.Rows, row)
}

func unchanged(ratio float64) float64 { return ratio }

// alone returns a load on one gateway, which opens the sessions, gets the calls, and whose CPU time is counted.
func alone(name, tool string, clients int, at *process.Process) *load.Dealt {
	one := []*process.Process{at}
	return &load.Dealt{Name: name, Tool: tool, Clients: clients, Opened: one, Called: one, Counted: one}
}

// three compares three nodes with one gateway, and with three gateways that are not in a cluster: with the same clients, so that each of
// three gets a third of the calls, and paced, so that each gateway gets the same number of calls a second.
func (c *clusterRun) three() error {
	servers, err := c.web()
	if err != nil {
		return err
	}
	var apart []*process.Process
	for range clusterNodes {
		g, err := c.gateway(c.o.gateway(), servers)
		if err != nil {
			return err
		}
		apart = append(apart, g.Process)
	}
	nodes, err := c.threeNodes(servers)
	if err != nil {
		return err
	}
	for _, era := range process.Eras {
		for _, paced := range []bool{false, true} {
			if err := c.threeOf(era == "modern", paced, apart, nodes); err != nil {
				return err
			}
		}
	}
	return nil
}

// threeOf measures clients of one era at three nodes, at three gateways that are not in a cluster, and at the first of these. Gateways that
// are not in a cluster do not know each other's sessions, so each legacy client stays at one of them.
func (c *clusterRun) threeOf(modern, paced bool, apart, nodes []*process.Process) error {
	what := ", legacy"
	if modern {
		what = ", modern"
	}
	one := alone("one gateway", "h0_echo", clusterClients, apart[0])
	three := &load.Dealt{Name: "three gateways", Opened: apart, Called: apart, Counted: apart, Stay: !modern}
	dealt := &load.Dealt{Name: "three nodes", Opened: nodes, Called: nodes, Counted: nodes}
	for _, d := range []*load.Dealt{three, dealt} {
		d.Tool, d.Clients = "h0_echo", clusterClients
	}
	loads := []*load.Dealt{one, three, dealt}
	for i, d := range loads {
		d.Modern = modern
		if paced {
			d.Pause, d.Clients = pacedPause, pacedClients*min(1+2*i, clusterNodes)
		}
	}
	if paced {
		what += ", paced"
	}
	if err := c.measure(loads...); err != nil {
		return err
	}
	c.compare(report.ClusterRow{What: "three ÷ one" + what, Goal: 2.7, AtLeast: true}, dealt, one, func(ratio float64) float64 { return clusterNodes / ratio })
	c.compare(report.ClusterRow{What: "three ÷ three" + what}, dealt, three, unchanged)
	return nil
}

// guest compares calls of sessions that were opened at another node with those of sessions that were opened at the called node.
func (c *clusterRun) guest() error {
	servers, err := c.web()
	if err != nil {
		return err
	}
	nodes, err := c.threeNodes(servers)
	if err != nil {
		return err
	}
	home := alone("at home", "h0_echo", clusterClients, nodes[1])
	guest := alone("as guests", "h0_echo", clusterClients, nodes[1])
	guest.Opened = nodes[:1]
	if err := c.measure(home, guest); err != nil {
		return err
	}
	c.compare(report.ClusterRow{What: "guest ÷ home", Goal: 1.03}, guest, home, unchanged)
	return nil
}

// one compares the only node of a cluster with a gateway without a cluster, and that gateway with the earlier build, if there is one.
func (c *clusterRun) one() error {
	servers, err := c.web()
	if err != nil {
		return err
	}
	without, err := c.gateway(c.o.gateway(), servers)
	if err != nil {
		return err
	}
	with, err := c.nodes(process.ClusterOptions{Nodes: 1, Servers: servers})
	if err != nil {
		return err
	}
	var before *process.Gateway
	if c.o.Before != "" {
		if before, err = c.gateway(c.o.Before, servers); err != nil {
			return err
		}
	}
	for _, clients := range []int{1, clusterMany} {
		loads := []*load.Dealt{alone("without cluster", "h0_echo", clients, without.Process), alone("one node", "h0_echo", clients, with[0].Process)}
		if before != nil {
			loads = append(loads, alone("before", "h0_echo", clients, before.Process))
		}
		if err := c.measure(loads...); err != nil {
			return err
		}
		c.compare(report.ClusterRow{What: "one node ÷ without", Goal: 1.03}, loads[1], loads[0], unchanged)
		if before != nil {
			c.compare(report.ClusterRow{What: "without ÷ before", Goal: 1.01}, loads[0], loads[2], unchanged)
		}
	}
	return nil
}

// hop compares calls at a node that does not run the server with calls at the node that runs it.
func (c *clusterRun) hop() error {
	args := []string{"bench", "server", "--stdio"}
	nodes, err := c.threeNodes(map[string]any{"s0": map[string]any{"command": c.o.Program, "args": args, "maxConcurrent": 0, "run": "a"}})
	if err != nil {
		return err
	}
	loads := func(clients int) (here, hop *load.Dealt) {
		here, hop = alone("without hop", "s0_echo", clients, nodes[0]), alone("hop", "s0_echo", clients, nodes[1])
		hop.Counted = nodes[:2]
		return here, hop
	}
	here, hop := loads(1)
	if err := c.measure(here, hop); err != nil {
		return err
	}
	c.added(here, hop)
	c.compare(report.ClusterRow{What: "hop ÷ here"}, hop, here, unchanged)
	here, hop = loads(clusterClients)
	if err := c.measure(here, hop); err != nil {
		return err
	}
	c.compare(report.ClusterRow{What: "hop ÷ here", Goal: 3}, hop, here, unchanged)
	return nil
}

// added adds a row about the time that a hop adds to a call.
func (c *clusterRun) added(here, hop *load.Dealt) {
	row := report.ClusterRow{What: "hop, p50 added", Clients: hop.Clients, Unit: "µs", Of: "µs", Goal: 150}
	var now, base []float64
	for i := range hop.Rounds {
		now, base = append(now, hop.Rounds[i].P50), append(base, here.Rounds[i].P50)
		row.Each = append(row.Each, now[i]-base[i])
	}
	row.Now, row.Base, row.Result = stats.Median(now), stats.Median(base), stats.Median(row.Each)
	c.result.Rows = append(c.result.Rows, row)
}
