//go:build linux

package cluster

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"goblin-actor/internal/auth"
	"goblin-actor/internal/gatetest"
)

var otherVersions = flag.Bool("other-versions", false, "build other versions of the gateway for TestRollingUpgrade; see make cluster-versions")

// speaking builds a gateway that speaks these versions of the messages between nodes.
func speaking(t *testing.T, versions string) (path string) {
	t.Helper()
	overlay := gatetest.Overlay(t, "../..", t.TempDir(), []gatetest.Edit{
		{Path: "internal/cluster/wire.go", Old: "var Spoken = Versions{Protocol, Protocol}", New: "var Spoken = Versions{" + versions + "}"},
	})
	path, err := gatetest.Build(t.TempDir(), "-overlay", overlay)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// S6.9: nodes are replaced one after the other by the next version, and again by this one, and no call fails. A node of a version that has none in
// common with the others is not a member: it and the others say why, and calls of the others do not fail.
func TestRollingUpgrade(t *testing.T) {
	if !*otherVersions {
		t.Skip("builds two other versions; see make cluster-versions")
	}
	gatetest.NeedBalancer(t, gatetest.Haproxy)
	next, far := speaking(t, "Protocol, Protocol + 1"), speaking(t, "Protocol + 2, Protocol + 2")
	dir := gatetest.ShortDir(t)
	key, sum := auth.NewKey()
	if err := auth.Add(filepath.Join(dir, "keys.yaml"), auth.Key{Name: "ci", Sum: sum}); err != nil {
		t.Fatal(err)
	}
	c := gatetest.StartCluster(t, gatetest.ClusterOptions{Binary: binary, Dir: dir, Balancer: gatetest.Haproxy, Config: fmt.Sprintf(storyConfig, binary)})
	within(t, gatetest.Patience, "members", "3 3 3", func() string { return counted(t, c.Nodes...) })
	var callers []*caller
	for _, era := range []string{"2025-11-25", "2026-07-28"} {
		callers = append(callers, startCaller(t, c.URL, key, era))
	}
	defer func() {
		for _, c := range callers {
			c.end()
		}
	}()
	check := func(what string) {
		t.Helper()
		time.Sleep(time.Second)
		for _, c := range callers {
			if done, failed := c.since(); done == 0 || len(failed) > 0 {
				t.Errorf("%s, %s: %d calls, failed %q", what, c.era, done, failed)
			} else {
				t.Logf("%s, %s: %d calls", what, c.era, done)
			}
		}
	}
	replace := func(n *gatetest.Node, by string) {
		t.Helper()
		_ = n.Cmd.Process.Signal(os.Interrupt)
		<-n.Exited
		n.Binary = by
		n.Start()
		gatetest.WaitReady(t, n.Base)
	}
	for _, by := range []struct{ name, path string }{{"the next version", next}, {"this version", binary}} {
		for _, n := range c.Nodes {
			replace(n, by.path)
			within(t, gatetest.Patience, "members", "3 3 3", func() string { return counted(t, c.Nodes...) })
			check(n.Name + " has " + by.name)
		}
	}
	a, b, other := c.Nodes[0], c.Nodes[1], c.Nodes[2]
	replace(other, far)
	for _, n := range []*gatetest.Node{a, b, other} {
		says(t, n.Process, "its version is too old or too new")
	}
	within(t, gatetest.Patience, "members", "2 2 1", func() string { return counted(t, c.Nodes...) })
	check("c is two versions ahead")
}
