//go:build linux

package cluster

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"goblin-actor/internal/gatetest"
)

// inTurn sends each POST to the next node, as a balancer does.
type inTurn struct {
	nodes []*gatetest.Node
	n     *atomic.Uint64
}

func (d inTurn) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		base, err := url.Parse(d.nodes[int(d.n.Add(1))%len(d.nodes)].Base)
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.URL.Host, r.Host = base.Host, base.Host
	}
	return http.DefaultTransport.RoundTrip(r)
}

// With `isolation: session`, a client has one process in the cluster, whichever nodes its requests reach, and other clients have
// others.
func TestSessionHasOneProcess(t *testing.T) {
	c := start(t, "", fmt.Sprintf("metaTools: false\naudit: {file: \"audit-${NODE}.jsonl\"}\nmcpServers:\n  mine: {command: %q, args: [demo, notes], run: each, isolation: session}\n", binary))
	within(t, patience, "members", "3 3 3", func() string { return members(c.Nodes...) })
	connectInTurn := func(version, name string) (*mcp.ClientSession, *heard) {
		return connectWith(t, c.Nodes[0].URL, version, name, &http.Client{Transport: inTurn{c.Nodes, new(atomic.Uint64)}})
	}
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			mine, h := connectInTurn(version, "one")
			other, _ := connectInTurn(version, "two")
			const uri = "resource://mine/note:///welcome"
			if err := mine.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
				t.Fatal(err)
			}
			if got := call(t.Context(), mine, "mine_add_note", map[string]any{"title": "secret", "text": "x"}); strings.HasPrefix(got, "error") {
				t.Fatal(got)
			}
			for i := range 6 {
				if got := call(t.Context(), mine, "mine_search_notes", map[string]any{"query": "secret"}); !strings.Contains(got, "secret") {
					t.Errorf("request %d: %s", i, got)
				}
				if got := call(t.Context(), other, "mine_search_notes", map[string]any{"query": "secret"}); strings.Contains(got, "secret") {
					t.Errorf("request %d of another session: %s", i, got)
				}
			}
			for range 3 {
				if got := call(t.Context(), mine, "mine_edit_note", map[string]any{"slug": "welcome", "text": time.Now().String()}); strings.HasPrefix(got, "error") {
					t.Fatal(got)
				}
				select {
				case <-h.updated:
				case <-time.After(patience):
					t.Fatal("no update of a resource")
				}
			}
		})
	}
	hops, _ := sumOf(t, "goblin_cluster_hops_total", c.Nodes...)
	if runs := runsInAudit(t, c.Nodes...); hops == 0 || runs == 0 || runs > hops { // not every call is audited
		t.Errorf("other nodes have executed %v calls, %v of them in the audit logs", hops, runs)
	}
	for _, metric := range []string{"goblin_cluster_relays_total", "goblin_cluster_guests"} {
		if sum, series := sumOf(t, metric, c.Nodes...); sum == 0 || series != 3 {
			t.Errorf("%s: %v in %d series", metric, sum, series)
		}
	}
}
