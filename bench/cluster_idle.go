package bench

import (
	"fmt"
	"time"

	"goblin-actor/bench/process"
	"goblin-actor/bench/report"
	"goblin-actor/bench/stats"
	"goblin-actor/bench/wire"
)

// stream measures the memory of idle GET streams that one node relays to another, and compares it with that of streams of a third node's
// own sessions.
func (c *clusterRun) stream() error {
	servers, err := c.web()
	if err != nil {
		return err
	}
	nodes, err := c.nodes(process.ClusterOptions{Nodes: clusterNodes, Servers: servers})
	if err != nil {
		return err
	}
	c.Sleep(clusterSettle)
	a, b, own := nodes[0], nodes[1], nodes[2]
	relayed, err := c.streamMemory([]*process.Gateway{a, b}, a, b)
	if err != nil {
		return err
	}
	direct, err := c.streamMemory([]*process.Gateway{own}, own, own)
	if err != nil {
		return err
	}
	for i, what := range []string{"relayed stream, resident", "relayed stream, in use"} {
		row := report.ClusterRow{What: what, Clients: c.o.Streams, Now: relayed[i], Base: direct[i], Unit: "KiB", Result: relayed[i], Of: "KiB"}
		if i == 0 {
			row.Goal = 16
		}
		c.result.Rows = append(c.result.Rows, row)
	}
	return nil
}

// streamMemory opens sessions at one node, and then a stream of each at another one. It returns by how many KiB a stream increases the
// resident memory, and the heap and stacks in use, of all the gateways together.
func (c *clusterRun) streamMemory(of []*process.Gateway, home, at *process.Gateway) (each [2]float64, err error) {
	post, err := wire.Dial("tcp", home.URL.Host)
	if err != nil {
		return each, err
	}
	defer post.Close()
	var sessions []string
	for range c.o.Streams {
		if err := post.Handshake(home.URL.Host, home.URL.Path); err != nil {
			return each, err
		}
		sessions = append(sessions, post.Session)
	}
	before, err := memoryOf(of)
	if err != nil {
		return each, err
	}
	for _, session := range sessions {
		if c.ctx.Err() != nil {
			return each, c.ctx.Err()
		}
		w, err := wire.DialStream(at.URL.Host)
		if err != nil {
			return each, err
		}
		defer w.Close()
		if _, err := w.OpenStream(at.URL.Host, at.URL.Path, session); err != nil {
			return each, err
		}
	}
	c.Sleep(clusterSettle)
	after, err := memoryOf(of)
	for i := range each {
		each[i] = (after[i] - before[i]) * 1024 / float64(c.o.Streams)
	}
	return each, err
}

// memoryOf returns the memory of gateways together in MiB: resident, and heap and stacks in use.
func memoryOf(all []*process.Gateway) (sum [2]float64, err error) {
	for _, g := range all {
		m, err := g.Memory()
		if err != nil {
			return sum, err
		}
		sum[0] += m.RSS
		sum[1] += m.Heap + m.Stack
	}
	return sum, nil
}

// idle measures idle gateways at the same time: one without a cluster, the nodes of a cluster, and those of a cluster that keeps records.
func (c *clusterRun) idle() error {
	servers, err := c.web()
	if err != nil {
		return err
	}
	one, err := c.gateway(c.o.gateway(), servers)
	if err != nil {
		return err
	}
	nodes, err := c.nodes(process.ClusterOptions{Nodes: clusterNodes, Servers: servers})
	if err != nil {
		return err
	}
	voters, err := c.nodes(process.ClusterOptions{Nodes: clusterNodes, Voters: true, Servers: servers})
	if err != nil {
		return err
	}
	groups := [][]*process.Gateway{{one}, nodes, voters}
	c.Sleep(c.o.Idle / 2) // the voters choose a leader
	var used, resident, own []float64
	for _, g := range groups {
		used = append(used, -cpuOf(g))
	}
	began := time.Now()
	c.Sleep(c.o.Idle)
	for i, g := range groups {
		used[i] = (used[i] + cpuOf(g)) / time.Since(began).Seconds() / float64(len(g))
	}
	for _, g := range groups {
		sum, err := memoryOf(g)
		if err != nil {
			return err
		}
		resident, own = append(resident, sum[0]/float64(len(g))), append(own, ownOf(g)/float64(len(g)))
	}
	for i, name := range []string{"", "idle node", "idle voter"} {
		if i > 0 {
			c.result.Rows = append(c.result.Rows,
				report.ClusterRow{What: name + ", CPU", Now: used[i], Base: used[0], Unit: "ms/s", Result: used[i], Of: "ms/s", Goal: 10 * float64(i)},
				report.ClusterRow{What: name + ", memory more", Now: resident[i], Base: resident[0], Unit: "MiB", Result: resident[i] - resident[0], Of: "MiB", Goal: 8},
				report.ClusterRow{What: name + ", own more", Now: own[i], Base: own[0], Unit: "MiB", Result: own[i] - own[0], Of: "MiB"})
		}
	}
	return nil
}

// ownOf returns the resident memory of gateways together in MiB, without pages of files.
func ownOf(all []*process.Gateway) (sum float64) {
	for _, g := range all {
		sum += float64(g.Usage().Own) / (1 << 20)
	}
	return sum
}

// cpuOf returns the CPU time of gateways together in milliseconds.
func cpuOf(all []*process.Gateway) (sum float64) {
	for _, g := range all {
		sum += float64(g.CPU().Nanoseconds()) / 1e6
	}
	return sum
}

// start measures how long gateways take from their start until they listen, in turns: a gateway without a cluster, the only node of a
// cluster, and the earlier build, if there is one.
func (c *clusterRun) start() error {
	servers, err := c.web()
	if err != nil {
		return err
	}
	kinds := []string{"without cluster", "one node"}
	if c.o.Before != "" {
		kinds = append(kinds, "before")
	}
	times := make([][]float64, len(kinds))
	for turn := range c.o.Starts {
		for i := range kinds {
			i = (i + turn) % len(kinds)
			took, err := c.startOnce(kinds[i], servers)
			if err != nil {
				return fmt.Errorf("%s: %w", kinds[i], err)
			}
			times[i] = append(times[i], took)
			c.step()
		}
	}
	c.difference(report.ClusterRow{What: "start, one node more"}, times[1], times[0])
	if c.o.Before != "" {
		c.difference(report.ClusterRow{What: "start, more than before", Goal: 1.2}, times[0], times[2])
	}
	return nil
}

// startOnce starts a gateway, stops it, and returns how many milliseconds it took until it listened.
func (c *clusterRun) startOnce(kind string, servers map[string]any) (took float64, err error) {
	err = c.Scope(func() error {
		if kind == "one node" {
			nodes, err := c.nodes(process.ClusterOptions{Nodes: 1, Servers: servers})
			if err == nil {
				took = stats.Millis(nodes[0].Took)
			}
			return err
		}
		program := c.o.gateway()
		if kind == "before" {
			program = c.o.Before
		}
		g, err := c.gateway(program, servers)
		if err == nil {
			took = stats.Millis(g.Took)
		}
		return err
	})
	return took, err
}

// difference adds a row about times that were measured in turns.
func (c *clusterRun) difference(row report.ClusterRow, now, base []float64) {
	for i := range now {
		row.Each = append(row.Each, now[i]-base[i])
	}
	row.Unit, row.Of = "ms", "ms"
	row.Now, row.Base, row.Result = stats.Median(now), stats.Median(base), stats.Median(row.Each)
	c.result.Rows = append(c.result.Rows, row)
}
