package gatetest

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Kind is what the connections between two nodes carry.
type Kind string

// The kinds of connections.
const (
	Requests Kind = "requests" // HTTPS
	Routes   Kind = "routes"   // NATS
)

// network connects nodes that run in network namespaces of their own. Connections leave a namespace through a socket in the file
// system, and pass through this process, which can hold back what one node sends to another.
type network struct {
	dir     string
	helpers map[*Node]int // id of the process that keeps the node's namespace
	gates   map[way]*gate
}

// way is what one node sends to another.
type way struct {
	from, to *Node
	kind     Kind
}

func (n *network) socket(parts ...string) string {
	return filepath.Join(n.dir, strings.Join(parts, "-"))
}

// isolate gives each node a network namespace. It skips the test if the system does not allow that; see NeedBalancer.
func (c *Cluster) isolate() {
	c.t.Helper()
	n := &network{dir: filepath.Join(c.o.Dir, "net"), helpers: map[*Node]int{}, gates: map[way]*gate{}}
	if err := os.Mkdir(n.dir, 0o700); err != nil {
		c.t.Fatal(err)
	}
	ports := map[Kind]string{Requests: c.port, Routes: c.routes}
	for kind := range ports {
		for _, from := range c.Nodes {
			for _, to := range c.Nodes {
				n.gates[way{from, to, kind}] = newGate()
			}
		}
	}
	c.network = n
	c.t.Cleanup(c.Heal) // so that no copy waits forever
	for _, node := range c.Nodes {
		inside := n.socket("clients", node.Name)
		forwards := []forward{{inside, node.Host + ":" + node.port}}
		connect(c.t, node.Host+":"+node.port, inside, nil, nil)
		for kind, port := range ports {
			forwards = append(forwards, forward{n.socket(string(kind), node.Name), node.Host + ":" + port})
			for _, to := range c.Nodes {
				if to != node {
					out := n.socket(string(kind), node.Name, to.Name)
					forwards = append(forwards, forward{to.Host + ":" + port, out})
					connect(c.t, out, n.socket(string(kind), to.Name), n.gates[way{node, to, kind}], n.gates[way{to, node, kind}])
				}
			}
		}
		n.helpers[node] = startNamespace(c.t, forwards)
	}
}

// connect passes connections on within this process until the test ends.
func connect(t *testing.T, from, to string, there, back *gate) {
	t.Helper()
	l, err := listenAt(from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go passOn(l, to, there, back)
}

// command returns a command that runs in the namespace of the node.
func (n *network) command(node *Node, program string, args ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"-t", strconv.Itoa(n.helpers[node]), "-U", "-n", "--preserve-credentials", "--", program}, args...)...)
}

// Cut holds back all bytes that from sends to to over connections of these kinds; none = all kinds. New connections wait in both
// directions. The connections stay open, as in a network that loses all packets.
func (c *Cluster) Cut(from, to *Node, kinds ...Kind) { c.network.set(false, false, from, to, kinds) }

// CutBoth cuts both directions.
func (c *Cluster) CutBoth(a, b *Node, kinds ...Kind) {
	c.Cut(a, b, kinds...)
	c.Cut(b, a, kinds...)
}

// Break ends all connections of these kinds between two nodes, and refuses new ones; none = all kinds.
func (c *Cluster) Break(a, b *Node, kinds ...Kind) {
	c.network.set(true, true, a, b, kinds)
	c.network.set(true, true, b, a, kinds)
}

// Heal ends all cuts. What was held back arrives.
func (c *Cluster) Heal() {
	for way := range c.network.gates {
		c.network.set(true, false, way.from, way.to, []Kind{way.kind})
	}
}

func (n *network) set(open, broken bool, from, to *Node, kinds []Kind) {
	if len(kinds) == 0 {
		kinds = []Kind{Requests, Routes}
	}
	for _, kind := range kinds {
		n.gates[way{from, to, kind}].set(open, broken)
	}
}

// namespaceVariable is the environment variable with the forwards for RunNamespace.
const namespaceVariable = "GATETEST_FORWARDS"

// startNamespace starts this program again in a network namespace, waits until it passes connections on, and returns its process id.
func startNamespace(t *testing.T, forwards []forward) (pid int) {
	t.Helper()
	text, err := json.Marshal(forwards)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), namespaceVariable+"="+string(text))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_NET_ADMIN},
	}
	said := &Output{}
	cmd.Stderr = said
	stdin, err := cmd.StdinPipe() // its end ends the process
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("nsenter"); err != nil {
		missing(t, "nsenter is not installed")
	}
	if err := cmd.Start(); err != nil {
		missing(t, fmt.Sprintf("the system does not allow network namespaces (%v)", err))
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Fatalf("the network of a node: %v: %s", err, said)
	}
	return cmd.Process.Pid
}

// RunNamespace is the first call of TestMain in a package that sets ClusterOptions.Network. It returns at once, unless this process
// was started to keep the network namespace of a node.
func RunNamespace() {
	text := os.Getenv(namespaceVariable)
	if text == "" {
		return
	}
	if err := runNamespace(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runNamespace(text string) error {
	var forwards []forward
	if err := json.Unmarshal([]byte(text), &forwards); err != nil {
		return err
	}
	if err := raiseLoopback(); err != nil {
		return fmt.Errorf("start the loopback device: %w", err)
	}
	for _, f := range forwards {
		l, err := listenAt(f.From)
		if err != nil {
			return err
		}
		go passOn(l, f.To, nil, nil)
	}
	if _, err := os.Stdout.Write([]byte{'\n'}); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// raiseLoopback starts the device lo, which a new network namespace has stopped.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}
