//go:build linux

package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	internal "goblin-actor/internal/cluster"
	"goblin-actor/internal/gatetest"
)

const oddServers = `
metaTools: false
cluster: {voters: [x, y, z]}
mcpServers:
  notes: {command: %[1]q, args: [demo, notes], run: each}
  once: {command: %[1]q, args: [demo, clock], run: one}
  lost: {command: %[1]q, args: [demo, clock], run: nowhere}
`

// says waits until a text is in the log of a node.
func says(t *testing.T, p *gatetest.Process, text string) {
	t.Helper()
	gatetest.WaitFor(t, "the log to contain "+text, func() (bool, string) { log := p.Log.String(); return strings.Contains(log, text), log })
}

// S6.10: a second process with the name of a node is reported by all nodes, and does not take over. Calls of a server whose run names no node
// fail with an error that names it. Everything else works.
func TestTwoNodesOfOneName(t *testing.T) {
	dir := gatetest.ShortDir(t)
	c := gatetest.StartCluster(t, gatetest.ClusterOptions{Binary: binary, Dir: dir, Config: fmt.Sprintf(oddServers, binary)})
	within(t, gatetest.Patience, "start", "3 3 3", func() string { return counted(t, c.Nodes...) })
	session, _ := connect(t, c.Nodes[0].URL, "2025-11-25")
	use(t, session, 1)
	own := filepath.Join(dir, "twin")
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "serve", "--config", filepath.Join(dir, "goblin.yaml"), "--listen", "127.0.0.4:"+gatetest.FreePort(t))
	cmd.Env = append(gatetest.Environment(own), "NODE=c", "NODE_HOST=127.0.0.4")
	twin := gatetest.Serve(t, cmd)
	for _, p := range []*gatetest.Process{c.Nodes[0].Process, c.Nodes[1].Process, c.Nodes[2].Process, twin} {
		says(t, p, "two nodes of the cluster have the same name")
	}
	use(t, session, 3)
	for _, n := range c.Nodes {
		s, _ := connect(t, n.URL, "2025-11-25")
		use(t, s, 1)
	}
	for _, n := range c.Nodes {
		says(t, n.Process, `server=lost replica=0 was=handshaking reason="node nowhere is not a member of the cluster; start it, or set run to another node"`)
		says(t, n.Process, "no node runs the server now; a node takes it over in about 15 s, if more than half of the voters run")
	}
	if err := twin.End(); err != nil {
		t.Error(err)
	}
	within(t, gatetest.Patience, "after the twin", "3 3 3", func() string { return counted(t, c.Nodes...) })
	use(t, session, 3)
}

// S6.10: a secret of 31 bytes, two voters, and missing seeds are errors that say what to do, and do not contain the secret.
func TestWrongConfigurationOfNode(t *testing.T) {
	dir := gatetest.ShortDir(t)
	for name, c := range map[string]struct{ secret, more, want string }{
		"secret":  {strings.Repeat("x", 31), "", "at least 32"},
		"voters":  {internal.NewSecret(), ", voters: [a, b]", "list 1, 3 or 5 nodes"},
		"no seed": {internal.NewSecret(), ", seeds: []", "no seeds given"},
	} {
		text := fmt.Sprintf("cluster: {name: test, node: a, listen: '127.0.0.1:%s', routes: '127.0.0.1:%s', secrets: ['${file:%s.secret}']%s}\nmcpServers: {}\n",
			gatetest.FreePort(t), gatetest.FreePort(t), strings.ReplaceAll(name, " ", "-"), c.more)
		if !strings.Contains(text, "seeds") {
			text = strings.Replace(text, "}\nmcp", ", seeds: ['127.0.0.1:1']}\nmcp", 1)
		}
		path := filepath.Join(dir, name+".yaml")
		for file, content := range map[string]string{path: text, filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".secret"): c.secret} {
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(binary, "serve", "--config", path, "--listen", "127.0.0.1:0")
		cmd.Env = gatetest.Environment(gatetest.ShortDir(t))
		late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		out, err := cmd.CombinedOutput()
		late.Stop()
		if err == nil || !strings.Contains(string(out), c.want) || strings.Contains(string(out), c.secret) {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}
