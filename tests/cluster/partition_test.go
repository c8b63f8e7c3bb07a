//go:build linux

package cluster

import (
	"flag"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"goblin-actor/internal/auth"
	"goblin-actor/internal/gatetest"
)

var cutTime = flag.Duration("cut-time", 0, "how long TestPartitions waits while nodes are cut off, after they have noticed it; 0 = the short version. See make cluster-partitions")

const partedConfig = `
metaTools: false
auth: {keys: "keys-${NODE}.yaml"}
mcpServers:
  here: {command: %[1]q, args: [demo, clock], run: each}
  on-a: {command: %[1]q, args: [demo, clock], run: a}
  on-b: {command: %[1]q, args: [demo, clock], run: b}
  on-c: {command: %[1]q, args: [demo, clock], run: c}
`

// parted is a cluster whose nodes can be cut off from each other.
type parted struct {
	*gatetest.Cluster
	t    *testing.T
	dir  string
	keys map[string]string
	sums map[string]auth.Sum
	home [3]string // a session of ann that was opened on each node
	ids  atomic.Int64
}

func startParted(t *testing.T) *parted {
	t.Helper()
	p := &parted{t: t, dir: gatetest.ShortDir(t), keys: map[string]string{}, sums: map[string]auth.Sum{}}
	for _, name := range []string{"ann", "bob", "eve"} {
		p.keys[name], p.sums[name] = auth.NewKey()
		for _, node := range []string{"a", "b", "c"} {
			p.allow(node, name)
		}
	}
	p.Cluster = gatetest.StartCluster(t, gatetest.ClusterOptions{Binary: binary, Dir: p.dir, Network: true, Config: fmt.Sprintf(partedConfig, binary)})
	p.expect(3, 3, 3)
	for i, n := range p.Nodes {
		answer := ""
		if answer, p.home[i] = (forgery{base: n.Base, path: "/mcp", key: p.keys["ann"], body: initialize}).send(t); p.home[i] == "" {
			t.Fatalf("a session at node %s: %s", n.Name, answer)
		}
	}
	p.reach("at first", func(int, int) string { return "" })
	return p
}

func (p *parted) allow(node, name string) {
	p.t.Helper()
	if err := auth.Add(filepath.Join(p.dir, "keys-"+node+".yaml"), auth.Key{Name: name, Sum: p.sums[name]}); err != nil {
		p.t.Fatal(err)
	}
}

// expect waits until the nodes see so many members.
func (p *parted) expect(members ...int) (took time.Duration) {
	p.t.Helper()
	return within(p.t, gatetest.Patience, "members", strings.Trim(fmt.Sprint(members), "[]"), func() string { return counted(p.t, p.Nodes...) })
}

// call calls a tool of a server at a node, as a client with a session that was opened at home, or as a modern client if home is -1. It
// returns "" or why the call failed.
func (p *parted) call(node, home int, server string) string {
	head := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s_now"`, p.ids.Add(1), server)
	f := forgery{base: p.Nodes[node].Base, path: "/mcp", key: p.keys["ann"], body: head + "}}"}
	if home >= 0 {
		f.session = p.home[home]
	} else {
		f.headers = map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": server + "_now"}
		f.body = head + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},` +
			`"io.modelcontextprotocol/clientCapabilities":{}}}}`
	}
	answer, _ := f.send(p.t)
	if strings.HasPrefix(answer, "200 ") && !strings.Contains(answer, `"error":{`) && !strings.Contains(answer, `"isError":true`) {
		return ""
	}
	return answer
}

// reach waits until each node can call the servers of each other node, or the call fails with a text that contains what want returns.
func (p *parted) reach(what string, want func(from, to int) string) {
	p.t.Helper()
	for from, n := range p.Nodes {
		for to, other := range p.Nodes {
			for _, home := range []int{from, -1} {
				gatetest.WaitFor(p.t, fmt.Sprintf("%s: the answer of node %s to a call of a server on %s to be %q", what, n.Name, other.Name, want(from, to)), func() (bool, string) {
					got := p.call(from, home, "on-"+other.Name)
					return got == "" == (want(from, to) == "") && strings.Contains(got, want(from, to)), got
				})
			}
		}
	}
}

// statuses returns how the nodes answer a principal, such as "200 200 401".
func (p *parted) statuses(name string) func() string {
	return func() string {
		var all []string
		for _, n := range p.Nodes {
			answer, _ := forgery{base: n.Base, path: "/mcp", key: p.keys[name], body: initialize}.send(p.t)
			if strings.HasPrefix(answer, fmt.Sprint(http.StatusTooManyRequests)) { // after many refused requests
				answer = "401"
			}
			all = append(all, answer[:3])
		}
		return strings.Join(all, " ")
	}
}

// load calls the server that runs on every node all the time, at each node, in both eras, in sessions of all nodes. It returns a function
// that ends the load. No call may fail.
func (p *parted) load() (end func()) {
	stop := make(chan struct{})
	var running sync.WaitGroup
	var calls atomic.Int64
	for node, n := range p.Nodes {
		running.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
				calls.Add(1)
				if failed := p.call(node, i%4-1, "here"); failed != "" {
					p.t.Errorf("a call of a server on every node failed at node %s: %.300s", n.Name, failed)
					return
				}
			}
		})
	}
	return func() {
		close(stop)
		running.Wait()
		p.t.Logf("%d calls of the server on every node", calls.Load())
	}
}

// partition is a way in which the nodes are cut off from each other.
type partition struct {
	name    string
	long    bool // not in the short version
	cut     func(c *gatetest.Cluster, a, b, d *gatetest.Node)
	members []int  // that each node sees
	apart   string // the pairs that cannot reach each other
	says    string // the error of calls across
}

const notMember = "is not a member of the cluster"

var partitions = []partition{
	{"a and b apart", true, func(c *gatetest.Cluster, a, b, _ *gatetest.Node) { c.CutBoth(a, b) }, []int{2, 2, 3}, "ab", notMember},
	{"b and c apart", true, func(c *gatetest.Cluster, _, b, d *gatetest.Node) { c.CutBoth(b, d) }, []int{3, 2, 2}, "bc", notMember},
	{"a and c apart", true, func(c *gatetest.Cluster, a, _, d *gatetest.Node) { c.CutBoth(a, d) }, []int{2, 3, 2}, "ac", notMember},
	{"a to b cut", false, func(c *gatetest.Cluster, a, b, _ *gatetest.Node) { c.Cut(a, b) }, []int{2, 2, 3}, "ab", notMember},
	{"a without NATS", false, func(c *gatetest.Cluster, a, b, d *gatetest.Node) {
		c.CutBoth(a, b, gatetest.Routes)
		c.CutBoth(a, d, gatetest.Routes)
	}, []int{1, 2, 2}, "ab ac", notMember},
	{"a without HTTPS", false, func(c *gatetest.Cluster, a, b, d *gatetest.Node) {
		c.Break(a, b, gatetest.Requests)
		c.Break(a, d, gatetest.Requests)
	}, []int{3, 3, 3}, "ab ac", "cannot be reached"},
}

// S6.5: while nodes are cut off from each other, each serves what it can reach, and calls of other servers fail with an error that says so. Two
// seconds after the end, all nodes reach each other again.
func TestPartitions(t *testing.T) {
	p := startParted(t)
	for _, c := range partitions {
		if c.long && *cutTime == 0 {
			continue
		}
		gatetest.Within(t, 2*time.Second, c.name, func() time.Duration {
			end := p.load()
			c.cut(p.Cluster, p.Nodes[0], p.Nodes[1], p.Nodes[2])
			p.expect(c.members...)
			p.reach(c.name, func(from, to int) string {
				if strings.Contains(c.apart, p.Nodes[min(from, to)].Name+p.Nodes[max(from, to)].Name) {
					return c.says
				}
				return ""
			})
			time.Sleep(*cutTime)
			return p.heal(end)
		})
	}
}

// heal ends a partition, and returns how long it takes until all nodes reach each other.
func (p *parted) heal(end func()) time.Duration {
	p.t.Helper()
	began := time.Now()
	p.Heal()
	p.expect(3, 3, 3)
	p.reach("at the end", func(int, int) string { return "" })
	took := time.Since(began)
	end()
	return took
}

// S6.6: revocations of both sides of a partition hold on the other side once it has ended.
func TestPartitionWithRevocations(t *testing.T) {
	p := startParted(t)
	a, b, c := p.Nodes[0], p.Nodes[1], p.Nodes[2]
	gatetest.Within(t, 2*time.Second, "revocations of both sides", func() time.Duration {
		end := p.load()
		p.CutBoth(a, b)
		p.CutBoth(a, c)
		p.expect(1, 2, 2)
		for node, name := range map[string]string{"a": "bob", "b": "eve"} {
			if err := auth.Revoke(filepath.Join(p.dir, "keys-"+node+".yaml"), name); err != nil {
				t.Fatal(err)
			}
		}
		within(t, gatetest.Patience, "bob's key, revoked at a", "401 200 200", p.statuses("bob"))
		within(t, gatetest.Patience, "eve's key, revoked at b", "200 401 401", p.statuses("eve"))
		time.Sleep(*cutTime)
		began := time.Now()
		p.Heal()
		for _, name := range []string{"bob", "eve"} {
			within(t, gatetest.Patience, name+"'s key", "401 401 401", p.statuses(name))
		}
		took := time.Since(began)
		p.heal(end)
		for node, name := range map[string]string{"a": "bob", "b": "eve"} { // for another attempt
			p.allow(node, name)
			within(t, gatetest.Patience, name+"'s key is back", "200 200 200", p.statuses(name))
		}
		return took
	})
}
