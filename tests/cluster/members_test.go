//go:build linux

package cluster

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/auth"
	"goblin-actor/internal/gatetest"
)

var membersMetric = regexp.MustCompile(`(?m)^goblin_cluster_members (\d+)$`)

// members returns how many members each of the nodes sees, such as "3 3 3".
func members(nodes ...*gatetest.Node) string {
	var all []string
	for _, n := range nodes {
		_, page := gatetest.Get(n.Base + "/metrics")
		found := membersMetric.FindStringSubmatch(page)
		all = append(all, append(found, "", "?")[1])
	}
	return strings.Join(all, " ")
}

// within returns how long it takes until get returns want.
func within(t *testing.T, limit time.Duration, what, want string, get func() string) time.Duration {
	t.Helper()
	began := time.Now()
	for got := ""; ; time.Sleep(5 * time.Millisecond) {
		if got = get(); got == want {
			return time.Since(began)
		}
		if time.Since(began) > limit {
			t.Fatalf("%s: %s after %v, want %s", what, got, limit, want)
		}
	}
}

// A node that is killed, stopped or frozen is soon no longer a member, and rejoins when it runs again. A frozen node continues
// under a new incarnation, and its sessions go on.
func TestMembersComeAndGo(t *testing.T) {
	cluster := start(t, "", fmt.Sprintf(servers, binary, binary))
	a, b, c := cluster.Nodes[0], cluster.Nodes[1], cluster.Nodes[2]
	all := func() string { return members(a, b, c) }
	others := func() string { return members(a, b) }
	within(t, gatetest.Patience, "start", "3 3 3", all)
	c.Kill()
	t.Logf("a killed node is given up after %v", within(t, gatetest.Patience, "kill", "2 2", others))
	c.Start()
	gatetest.WaitReady(t, c.Base)
	within(t, gatetest.Patience, "start after a kill", "3 3 3", all)
	session, _ := connect(t, c.URL, "2025-11-25")
	c.Freeze()
	t.Logf("a frozen node is given up after %v", within(t, gatetest.Patience, "freeze", "2 2", others))
	time.Sleep(time.Second)
	c.Thaw()
	t.Logf("a thawed node has rejoined after %v", within(t, gatetest.Patience, "thaw", "3 3 3", all))
	if _, err := session.ListTools(t.Context(), nil); err != nil {
		t.Errorf("a session of the former incarnation: %v", err)
	}
	_ = c.Cmd.Process.Signal(os.Interrupt)
	t.Logf("the others drop a node that was stopped after %v", within(t, gatetest.Patience, "stop", "2 2", others))
}

// S6.6: a key that the file of one node loses is refused by all nodes within a second, also by a node that starts with an old
// file, until a running node's file has the key again. A node that was cut off at that time refuses the key as soon as it is back.
func TestAttack106RevokedKeyInAnOldFile(t *testing.T) {
	dir := gatetest.ShortDir(t)
	key, sum := auth.NewKey()
	entry := auth.Key{Name: "ci", Sum: sum}
	files := map[string]string{}
	for _, node := range []string{"a", "b", "c"} {
		files[node] = filepath.Join(dir, "keys-"+node+".yaml")
		if err := auth.Add(files[node], entry); err != nil {
			t.Fatal(err)
		}
	}
	cluster := gatetest.StartCluster(t, gatetest.ClusterOptions{Binary: binary, Dir: dir, Config: "auth: {keys: \"keys-${NODE}.yaml\"}\nmcpServers: {}\n"})
	answers := func() string {
		var all []string
		for _, n := range cluster.Nodes {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			r.Header.Set("Authorization", "Bearer "+key)
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				all = append(all, "?")
				continue
			}
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusTooManyRequests { // after many refused requests of this address
				answer.StatusCode = http.StatusUnauthorized
			}
			all = append(all, fmt.Sprint(answer.StatusCode))
		}
		return strings.Join(all, " ")
	}
	within(t, gatetest.Patience, "at first", "200 200 200", answers)
	if err := auth.Revoke(files["a"], "ci"); err != nil {
		t.Fatal(err)
	}
	t.Logf("a revoked key is refused after %v", within(t, gatetest.Patience, "revoked at a", "401 401 401", answers))
	b := cluster.Nodes[1]
	b.Kill()
	b.Start()
	gatetest.WaitReady(t, b.Base)
	if got := answers(); got != "401 401 401" {
		t.Errorf("after the start of b with its old file: %s", got)
	}
	if err := auth.Add(files["a"], entry); err != nil {
		t.Fatal(err)
	}
	t.Logf("a key that is back is accepted after %v", within(t, gatetest.Patience, "back at a", "200 200 200", answers))
	c := cluster.Nodes[2]
	within(t, gatetest.Patience, "members", "3 3 3", func() string { return counted(t, cluster.Nodes...) })
	c.Freeze()
	within(t, gatetest.Patience, "members without c", "2 2", func() string { return counted(t, cluster.Nodes[:2]...) })
	if err := auth.Revoke(files["a"], "ci"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	c.Thaw()
	t.Logf("a node that was cut off refuses the key after %v", within(t, 5*time.Second, "revoked while c was cut off", "401 401 401", answers))
}
