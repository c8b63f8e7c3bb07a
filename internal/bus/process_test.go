//go:build unix

package bus

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// nodeVariable makes the test binary run one node, as a process that can be killed. Its value is a nodeProcess as JSON.
const nodeVariable = "BUS_TEST_NODE"

type nodeProcess struct {
	Cluster, Node, Routes, Store string
	Seeds, Voters                []string
	Beats                        bool // send messages as an idle node of a cluster does
	Alone                        bool // do nothing: for comparisons
}

func TestMain(m *testing.M) {
	if text := os.Getenv(nodeVariable); text != "" {
		runNode(text)
		return
	}
	os.Exit(m.Run())
}

// runNode runs a node that answers questions to node.<name>, until its standard input ends.
func runNode(text string) {
	var p nodeProcess
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		panic(err)
	}
	o := Options{Cluster: p.Cluster, Node: p.Node, Routes: p.Routes, Seeds: p.Seeds, Voters: p.Voters, Store: p.Store}
	complete(&o)
	var b Bus = Solo()
	if !p.Alone {
		var err error
		if b, err = Start(o); err != nil {
			panic(err)
		}
	}
	if p.Beats {
		go beat(b)
	}
	if _, err := b.Subscribe("node."+o.Node, func(m Message) { m.Answer([]byte(o.Node)) }); err != nil {
		panic(err)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	b.Close()
}

// beat publishes and receives messages like the beats of nodes.
func beat(b Bus) {
	if _, err := b.Subscribe("members.beat", func(Message) {}); err != nil {
		panic(err)
	}
	for range time.Tick(200 * time.Millisecond) {
		b.Publish("members.beat", make([]byte, 400))
	}
}

// startProcess starts a node as a process and waits until it is ready.
func startProcess(t testing.TB, o Options) *exec.Cmd {
	t.Helper()
	return startNodeProcess(t, nodeProcess{Cluster: o.Cluster, Node: o.Node, Routes: o.Routes, Store: o.Store, Seeds: o.Seeds, Voters: o.Voters})
}

func startNodeProcess(t testing.TB, p nodeProcess) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), nodeVariable+"="+string(text))
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = command.Process.Signal(syscall.SIGCONT)
		_ = command.Wait()
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the node says %q, %v", line, err)
	}
	return command
}

// When a node is killed, questions to it fail at once. When it is stopped, they fail after about a second. A node that
// comes back is connected again.
func TestKilledAndStoppedNodes(t *testing.T) {
	t.Parallel()
	options := threeNodes(t)
	for i := range options {
		options[i].Seeds = options[i].Seeds[:1] // b and c learn of each other from a
	}
	a, b := startNode(t, options[0]), startNode(t, options[1])
	c := startProcess(t, options[2])
	answers := func() bool { return quickAsk(a, "node.c") == nil && quickAsk(b, "node.c") == nil }
	fails := func() bool {
		return errors.Is(quickAsk(a, "node.c"), ErrNoListener) && errors.Is(quickAsk(b, "node.c"), ErrNoListener)
	}
	within(t, 5*time.Second, "an answer", answers)
	_ = c.Process.Kill()
	t.Logf("killed: no listener after %v", within(t, time.Second, "no listener", fails))
	_ = c.Wait()
	c = startProcess(t, options[2])
	t.Logf("back: an answer after %v", within(t, 5*time.Second, "an answer", answers))
	_ = c.Process.Signal(syscall.SIGSTOP)
	t.Logf("stopped: no listener after %v", within(t, 3*time.Second, "no listener", fails))
	_ = c.Process.Signal(syscall.SIGCONT)
	t.Logf("continued: an answer after %v", within(t, 5*time.Second, "an answer", answers))
}
