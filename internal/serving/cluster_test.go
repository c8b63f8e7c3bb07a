package serving

import (
	"log/slog"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/auth"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
	"goblin-actor/protocol/downstream"
)

// member is a node of a cluster, with a key file of its own.
type member struct {
	gateway  *actors.Gateway
	security *Security
	keys     string
}

func startMember(t *testing.T, net *actortest.Network, node, keys string) *member {
	t.Helper()
	cfg, report := config.Parse(filepath.Join(t.TempDir(), "goblin.yaml"), []byte("cluster: {node: "+node+", seeds: b, secrets: \"${SECRET}\"}\nauth: {keys: "+keys+"}\n"+
		"policy: {roles: {r: {rate: 60/min}}}\nmcpServers: {}\n"), func(string) (string, bool) { return strings.Repeat("s", cluster.MinSecret), true })
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	secrets, err := cluster.NewSecrets([]string{strings.Repeat("x", cluster.MinSecret)})
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewSecurity(cfg, true, log)
	if err != nil {
		t.Fatal(err)
	}
	c := &actors.Cluster{Name: "prod", Node: node, Address: node + ":1", Secrets: secrets, Members: cluster.NewMembers(cluster.NewIncarnation()), Bus: net.Bus(node)}
	e.Join(c)
	g, err := actors.Start(cfg, actors.Options{Log: log, Cluster: c})
	if err != nil {
		t.Fatal(err)
	}
	e.Attach(g)
	return &member{g, e, keys}
}

func (m *member) stop(t *testing.T) {
	t.Helper()
	if err := Stop(m.gateway, 0); err != nil {
		t.Error(err)
	}
	m.security.Close()
}

// status returns the HTTP status of the answer to a request with a key; 200 = it is admitted.
func (m *member) status(key string) int {
	a := m.security.Admission().Admit(&downstream.Request{Method: []byte("POST"), Path: []byte("/mcp"), Peer: netip.MustParseAddrPort("127.0.0.1:4000"),
		Authorization: []byte("Bearer " + key), Authorizations: 1})
	if a.Refusal != nil {
		return a.Refusal.Status
	}
	a.Lease.Release()
	return 200
}

// A key that one node's file loses is refused by all nodes, whatever their files say: also by one that starts with an old
// file. A running node whose file gets the key again takes that back.
func TestRevocationAtAllNodes(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{}
	key, sum := auth.NewKey()
	for _, node := range []string{"a", "b", "c"} {
		files[node] = filepath.Join(dir, node+".yaml")
		if err := auth.Add(files[node], auth.Key{Name: "ci", Sum: sum, Roles: []string{"r"}}); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		net := actortest.NewNetwork(actors.ErrNoNode)
		a, b := startMember(t, net, "a", files["a"]), startMember(t, net, "b", files["b"])
		time.Sleep(2 * time.Second)
		expect := func(when string, want int, nodes ...*member) {
			t.Helper()
			synctest.Wait()
			for i, m := range nodes {
				if got := m.status(key); got != want {
					t.Errorf("%s: node %d answers %d, want %d", when, i, got, want)
				}
			}
		}
		expect("at first", 200, a, b)
		if err := auth.Revoke(files["a"], "ci"); err != nil {
			t.Fatal(err)
		}
		if err := a.security.Admission().Reload(); err != nil {
			t.Fatal(err)
		}
		expect("after the revocation", 401, a, b)
		c := startMember(t, net, "c", files["c"])
		time.Sleep(300 * time.Millisecond)
		expect("after the start of another node", 401, a, b, c)
		if err := b.security.Admission().Reload(); err != nil {
			t.Fatal(err)
		}
		expect("after the old file was read again", 401, a, b, c)
		if err := auth.Add(files["a"], auth.Key{Name: "ci", Sum: sum, Roles: []string{"r"}}); err != nil {
			t.Fatal(err)
		}
		if err := a.security.Admission().Reload(); err != nil {
			t.Fatal(err)
		}
		expect("when the key is back", 200, a, b, c)
		for _, m := range []*member{a, b, c} {
			m.stop(t)
		}
	})
}

// The nodes share the rate of a principal.
func TestRateOfAllNodes(t *testing.T) {
	dir := t.TempDir()
	key, sum := auth.NewKey()
	file := filepath.Join(dir, "keys.yaml")
	if err := auth.Add(file, auth.Key{Name: "ci", Sum: sum, Roles: []string{"r"}}); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		net := actortest.NewNetwork(actors.ErrNoNode)
		var nodes []*member
		for _, node := range []string{"a", "b", "c"} {
			nodes = append(nodes, startMember(t, net, node, file))
		}
		time.Sleep(2 * time.Second)
		admitted := 0
		for i := range 3000 { // for 300 seconds
			if nodes[i%3].status(key) == 200 {
				admitted++
			}
			time.Sleep(100 * time.Millisecond)
		}
		if ratio := float64(admitted) / (60 + 300); ratio < 0.98 || ratio > 1.03 {
			t.Errorf("%d requests admitted, %.3f of one gateway's", admitted, ratio)
		}
		for _, m := range nodes {
			m.stop(t)
		}
	})
}
