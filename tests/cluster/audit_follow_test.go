//go:build linux

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"goblin-actor/internal/gatetest"
)

// shared is output of a process that a test reads while it is written.
type shared struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *shared) contains(part string) func() (bool, string) {
	return func() (bool, string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		text := s.text.String()
		return strings.Contains(text, part), text
	}
}

// audit tail --nodes --follow prints the lines of a node that joins after it was started, and of one that was restarted. It says when the
// log of a node cannot be read.
func TestAuditTailFollowsNodes(t *testing.T) {
	cluster := start(t, "", fmt.Sprintf(servers, binary, binary)+`audit: {file: "audit-${NODE}.jsonl"}`)
	a, b, c := cluster.Nodes[0], cluster.Nodes[1], cluster.Nodes[2]
	within(t, gatetest.Patience, "start", "3 3 3", func() string { return members(a, b, c) })
	c.Kill()
	within(t, gatetest.Patience, "end of c", "2 2", func() string { return members(a, b) })

	var lines, notes shared
	ctx, stop := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, binary, "audit", "tail", "--nodes", "--follow", "--tool", "add_note", "-o", "json")
	cmd.Env, cmd.Stdout, cmd.Stderr = gatetest.Environment(a.Dir), &lines, &notes
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); _ = cmd.Wait() })
	use := func(n *gatetest.Node) {
		t.Helper()
		session, _ := connect(t, n.URL, "2025-11-25")
		within(t, patience, "a call at "+n.Name, "ok", func() string {
			if got := call(t.Context(), session, "notes_add_note", map[string]any{"title": "of " + n.Name, "text": "x"}); strings.HasPrefix(got, "error") {
				return got
			}
			return "ok"
		})
		gatetest.WaitFor(t, "the line of node "+n.Name, lines.contains(`"node":"`+n.Name+`"`))
	}
	use(a)
	c.Start()
	gatetest.WaitReady(t, c.Base)
	use(c)
	b.Kill()
	gatetest.WaitFor(t, "a note on b", notes.contains("the log of node b cannot be read"))
	b.Start()
	gatetest.WaitReady(t, b.Base)
	use(b)
	gatetest.WaitFor(t, "another note on b", notes.contains("the log of node b can be read again"))
}
