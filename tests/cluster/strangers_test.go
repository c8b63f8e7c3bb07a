//go:build linux

package cluster

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	internal "goblin-actor/internal/cluster"
	"goblin-actor/internal/gatetest"
)

var routesPort = regexp.MustCompile(`routes: ["']?\$\{NODE_HOST\}:(\d+)`)

// stranger starts a gateway on a host as node d with a changed copy of the cluster's file, and returns it. It does not become a member.
func stranger(t *testing.T, dir, host, name, old, changed string) *gatetest.Process {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(dir, "goblin.yaml"))
	if err != nil || !strings.Contains(string(file), old) {
		t.Fatalf("%v: no %q in %s", err, old, file)
	}
	path := filepath.Join(dir, name+".yaml")
	if err := os.WriteFile(path, []byte(strings.Replace(string(file), old, changed, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, name)
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "serve", "--config", path, "--listen", host+":"+gatetest.FreePort(t))
	cmd.Env = append(gatetest.Environment(own), "NODE=d", "NODE_HOST="+host)
	return gatetest.Serve(t, cmd)
}

// S6.8: a node with another secret, a node of a cluster with another name, and programs that send anything to the ports for nodes, do not become
// members. They fill neither the logs nor the memory, and clients notice nothing.
func TestStrangersAtTheNodePorts(t *testing.T) {
	dir := gatetest.ShortDir(t)
	c := gatetest.StartCluster(t, gatetest.ClusterOptions{Binary: binary, Dir: dir, Config: fmt.Sprintf(servers, binary, binary)})
	all := func() string { return counted(t, c.Nodes...) }
	within(t, gatetest.Patience, "start", "3 3 3", all)
	session, _ := connect(t, c.Nodes[0].URL, "2025-11-25")
	use(t, session, 1)
	file, err := os.ReadFile(filepath.Join(dir, "goblin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	port := routesPort.FindStringSubmatch(string(file))
	if port == nil {
		t.Fatalf("no port for routes in %s", file)
	}
	lines, memory := map[string]int{}, map[string]int{}
	for _, n := range c.Nodes {
		lines[n.Name], memory[n.Name] = strings.Count(n.Log.String(), "\n"), resident(t, n)
	}
	if err := os.WriteFile(filepath.Join(dir, "other.secret"), []byte(internal.NewSecret()), 0o600); err != nil {
		t.Fatal(err)
	}
	strangers := []*gatetest.Process{
		stranger(t, dir, "127.0.0.4", "secret", "file:cluster.secret", "file:other.secret"),
		stranger(t, dir, "127.0.0.5", "named", "name: test", "name: other"),
	}
	for range 100 {
		for _, n := range c.Nodes {
			for _, address := range []string{n.Address(), n.Host + ":" + port[1]} {
				for _, text := range []string{"\x00garbage\xff\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT {\"verbose\":true}\r\nPING\r\n"} {
					babble(address, text)
				}
			}
		}
	}
	time.Sleep(3 * time.Second)
	if got := all(); got != "3 3 3" {
		t.Errorf("members after the strangers: %s", got)
	}
	use(t, session, 3)
	for _, n := range c.Nodes {
		if more := strings.Count(n.Log.String(), "\n") - lines[n.Name]; more > 60 {
			t.Errorf("node %s has logged %d lines because of strangers: %s", n.Name, more, n.Log)
		}
		if more := resident(t, n) - memory[n.Name]; more > 64<<10 {
			t.Errorf("node %s needs %d KiB more", n.Name, more)
		}
	}
	for _, s := range strangers {
		if strings.Contains(s.Log.String(), "has joined the cluster") {
			t.Errorf("a stranger has members: %s", s.Log)
		}
	}
}

// babble sends a text to a port, once in the clear and once over TLS without a certificate, and does not wait for an answer.
func babble(address, text string) {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if strings.HasPrefix(text, "GET") {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	}
	_, _ = conn.Write([]byte(text)) // a refusal is what the test expects
}

var residentSize = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

// resident returns the resident memory of a node in KiB.
func resident(t *testing.T, n *gatetest.Node) (size int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.Cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	if m := residentSize.FindStringSubmatch(string(text)); m != nil {
		_, _ = fmt.Sscan(m[1], &size)
	}
	return size
}

// A session id that is far too long is answered like one that does not exist, or refused as too long, and the node goes on.
func TestLongSessionID(t *testing.T) {
	c := start(t, "", fmt.Sprintf(servers, binary, binary))
	for _, n := range c.Nodes {
		for _, length := range []int{4096, 5000, 100 << 10} {
			got, _ := forgery{base: n.Base, path: "/mcp", session: "2" + strings.Repeat("A", length-1), body: ping}.send(t)
			if !strings.HasPrefix(got, "404 ") && !strings.HasPrefix(got, "431 ") && !strings.HasPrefix(got, "400 ") {
				t.Errorf("node %s, an id of %d bytes: %.200s", n.Name, length, got)
			}
		}
	}
	session, _ := connect(t, c.Nodes[1].URL, "2025-11-25")
	use(t, session, 1)
}
