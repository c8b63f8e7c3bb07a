//go:build linux && !race

package relay

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"goblin-actor/internal/cluster"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol/downstream"
)

const idleStreams = 1000

// nodeProcess is a node in a process of its own, so that its memory can be measured.
type nodeProcess struct {
	t       *testing.T
	in      io.Writer
	out     *bufio.Reader
	address string
}

// startNode starts this test in a process of its own as one of the nodes. env is added to the process's environment.
func startNode(t *testing.T, role string, env ...string) *nodeProcess {
	t.Helper()
	command := exec.Command(os.Args[0], "-test.run=^TestIdleStreamMemory$")
	command.Env = append(os.Environ(), append(env, "GOBLIN_RELAY_ROLE="+role)...)
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	p := &nodeProcess{t: t, in: in, out: bufio.NewReader(out)}
	p.address = p.line()
	t.Cleanup(func() {
		in.Close()
		_ = command.Wait()
	})
	return p
}

func (p *nodeProcess) line() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// resident returns the resident memory of the process in KiB, after a collection.
func (p *nodeProcess) resident() int {
	p.t.Helper()
	fmt.Fprintln(p.in)
	n, err := strconv.Atoi(p.line())
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// beNode is a node: it prints its address, and for each line on stdin its resident memory.
func beNode(t *testing.T, role string) {
	secrets, err := cluster.NewSecrets([]string{os.Getenv("GOBLIN_RELAY_SECRET")})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	var server *downstream.Server
	if role == "home" {
		server = NewServer(handlerFunc{}, ServerOptions{Node: "home", TLS: tlsOf(t, secrets, "home"), Keys: holders{"local": identity.Local}, Log: log})
	} else {
		target := Target{Node: "home", Address: os.Getenv("GOBLIN_RELAY_HOME")}
		r := New(Options{TLS: tlsOf(t, secrets, "first"), Resolve: func(string) (Target, bool) { return target, true }, Log: log})
		server = downstream.NewServer(passingHandler{r}, downstream.Options{}, log)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(l) }()
	fmt.Println(l.Addr())
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		debug.FreeOSMemory()
		fmt.Println(residentKiB(t))
	}
}

func residentKiB(t *testing.T) int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Idle relayed streams cost little memory at both nodes.
func TestIdleStreamMemory(t *testing.T) {
	if role := os.Getenv("GOBLIN_RELAY_ROLE"); role != "" {
		beNode(t, role)
		return
	}
	secret := "GOBLIN_RELAY_SECRET=" + cluster.NewSecret()
	home := startNode(t, "home", secret)
	first := startNode(t, "first", secret, "GOBLIN_RELAY_HOME="+home.address)
	open := func() {
		c := dial(t, first.address).send(get)
		if head, err := c.r.ReadString('\n'); err != nil || !strings.Contains(head, "200") {
			t.Fatal(head, err)
		}
		for line := ""; line != ":\n"; {
			var err error
			if line, err = c.r.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		c.r = nil
	}
	for range 10 {
		open()
	}
	atHome, atFirst := home.resident(), first.resident()
	for range idleStreams {
		open()
	}
	homeEach, firstEach := float64(home.resident()-atHome)/idleStreams, float64(first.resident()-atFirst)/idleStreams
	t.Logf("an idle relayed stream: %.1f KiB at its home, %.1f KiB at the node of its client", homeEach, firstEach)
	if homeEach > 16 || firstEach > 16 {
		t.Error("more than 16 KiB")
	}
}
