//go:build linux

package cluster

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/gatetest"
)

// joinServers are servers of all kinds. Two of them need seconds to start.
const joinServers = `
metaTools: false
mcpServers:
  notes: {command: %[1]q, args: [demo, notes], run: b}
  oracle: {command: %[1]q, args: [demo, oracle], run: b, protocol: modern}
  clock: {command: %[1]q, args: [demo, clock], run: each}
  slow: {command: sh, args: [-c, "sleep 3; exec %[1]s demo clock"], run: each}
  lazy: {command: sh, args: [-c, "sleep 3; exec %[1]s demo clock"], run: each, startup: lazy}
`

// A node without a state file that joins lists at its first 200 what the others list, within a second.
func TestJoinListsAtOnce(t *testing.T) {
	c := start(t, "", fmt.Sprintf(joinServers, binary))
	for _, n := range c.Nodes {
		session, _ := connect(t, n.URL, "2026-07-28")
		within(t, patience, "servers of "+n.Name, "true true", func() string { // one node has started the lazy server
			return fmt.Sprint(readyServers(n) >= "4", " ", strings.Contains(lists(t, session), "lazy_wait"))
		})
	}
	gatetest.Within(t, time.Second, "join", func() time.Duration {
		n := c.Nodes[2]
		n.Kill()
		if err := os.RemoveAll(n.Dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(n.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		n.Start()
		began := time.Now()
		gatetest.WaitReady(t, n.Base)
		took := time.Since(began)
		session, _ := connect(t, n.URL, "2026-07-28")
		other, _ := connect(t, c.Nodes[0].URL, "2026-07-28")
		got := strings.ReplaceAll(lists(t, session), `,"goblin-actor/state":"cached"`, "") // until the server has started
		if want := lists(t, other); got != want {
			t.Errorf("ready after %v with the lists\n%s, the others have\n%s", took, got, want)
		}
		return took
	})
}
