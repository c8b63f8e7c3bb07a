package gatetest

import (
	"sync"
	"testing"
)

func serveBalanced(t *testing.T, o BalancedOptions) Balanced {
	t.Helper()
	c := StartCluster(t, ClusterOptions{Binary: o.Binary, Dir: o.Dir, Config: o.Config, Balancer: o.Balancer, NATS: o.NATS, Patient: true, Run: "a"})
	t.Cleanup(func() {
		var ending sync.WaitGroup
		for _, n := range c.Nodes {
			ending.Go(func() {
				if err := n.End(); err != nil {
					t.Errorf("node %s exited with %v", n.Name, err)
				}
			})
		}
		ending.Wait()
		if t.Failed() {
			for _, n := range c.Nodes {
				t.Logf("the log of node %s:\n%s", n.Name, n.Log)
			}
		}
	})
	b := Balanced{URL: c.URL, Base: c.Base}
	for _, n := range c.Nodes {
		b.Bases, b.Dirs = append(b.Bases, n.Base), append(b.Dirs, n.Dir)
		WaitFor(t, "the nodes to see each other", func() (bool, string) {
			s, err := Snapshot(t.Context(), n.Dir)
			if err != nil {
				return false, err.Error()
			}
			members := 0
			for i := range s.Nodes {
				if s.Nodes[i].IsMember() {
					members++
				}
			}
			return members == len(c.Nodes), n.Name
		})
	}
	return b
}
