package actors

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/remote"
)

// startPeers starts a gateway for each element of links. Gateway i has the gateways with the indexes links[i] as servers, and a
// fake server on stdio that no other gateway has. The last result is these fake servers.
func startPeers(t *testing.T, version string, links ...[]int) ([]*httpHarness, []*Gateway, []*actortest.Server) {
	t.Helper()
	listeners := make([]net.Listener, len(links))
	for i := range links {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners[i] = l
	}
	webs, gateways, owns := make([]*httpHarness, len(links)), make([]*Gateway, len(links)), make([]*actortest.Server, len(links))
	for i, peers := range links {
		cfg := config.Default()
		own := config.DefaultServer()
		own.Name, own.Written, own.Command = "own", "own", "fake"
		cfg.Servers = append(cfg.Servers, own)
		for _, to := range peers {
			peer := config.DefaultServer()
			peer.Name, peer.Order, peer.Protocol = "gw"+string(rune('a'+to)), len(cfg.Servers), version
			peer.URLs = []string{"http://" + listeners[to].Addr().String() + "/mcp"}
			cfg.Servers = append(cfg.Servers, peer)
		}
		owns[i] = &actortest.Server{Tools: []string{"tool" + string(rune('a'+i))}}
		gateways[i], webs[i] = startGatewayOn(t, listeners[i], &cfg, owns[i])
	}
	return webs, gateways, owns
}

// startGatewayOn starts a gateway on the listener. For servers with a URL it opens real connections; all others are fake.
func startGatewayOn(t *testing.T, l net.Listener, cfg *config.Config, fake *actortest.Server) (*Gateway, *httpHarness) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	budget := stream.NewBudget(1 << 30)
	g, err := Start(cfg, Options{Version: "test", Log: log, Open: func(s config.Server, _ int) (func(upstream.Sink) upstream.Link, string) {
		if len(s.URLs) == 0 {
			return fake.Open, "stdio"
		}
		o := remote.Options{URL: s.URLs[0], MaxMessageBytes: 1 << 20, Budget: budget}
		return func(sink upstream.Sink) upstream.Link { return remote.OpenHTTP(o, sink) }, "http"
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := downstream.NewServer(g.Front(), downstream.Options{MaxMessageBytes: 1 << 20}, log)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := g.Stop(ctx, 0); err != nil {
			t.Errorf("stop: %v", err)
		}
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		<-served
	})
	return g, &httpHarness{t: t, url: "http://" + l.Addr().String(), gateway: g}
}

// waitTools waits until the gateway lists exactly these tools.
func (w *httpHarness) waitTools(want ...string) {
	w.t.Helper()
	slices.Sort(want)
	session := w.open("/mcp")
	var got []string
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		var list struct {
			Result struct{ Tools []struct{ Name string } }
		}
		body := w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "Mcp-Session-Id", session).body
		if err := json.Unmarshal([]byte(body), &list); err != nil {
			w.t.Fatalf("%v: %s", err, body)
		}
		got = nil
		for _, tool := range list.Result.Tools {
			if !strings.HasPrefix(tool.Name, "goblin_") { // the gateway's own tools
				got = append(got, tool.Name)
			}
		}
		if slices.Equal(got, want) {
			return
		}
	}
	w.t.Fatalf("tools %q, want %q", got, want)
}

// A gateway that is configured as its own server reports that, instead of listing its own items endlessly.
func TestGatewayIsItsOwnServer(t *testing.T) {
	for _, version := range []string{"auto", "legacy", "modern"} {
		t.Run(version, func(t *testing.T) {
			webs, gateways, _ := startPeers(t, version, []int{0})
			webs[0].settle(gateways[0], 2)
			webs[0].waitTools("own_toola")
			var own status.Server
			for deadline := time.Now().Add(2 * time.Minute); own.State != "waiting"; { // the connection is retried
				s, err := gateways[0].Status(t.Context())
				if err != nil || time.Now().After(deadline) {
					t.Fatalf("state %s, reason %q, %v", own.State, own.Reason, err)
				}
				own = s.Servers[slices.IndexFunc(s.Servers, func(s status.Server) bool { return s.Name == "gwa" })]
			}
			if !strings.Contains(own.Reason, "this gateway is among its own servers") {
				t.Errorf("reason %q", own.Reason)
			}
		})
	}
}

// Gateways may have each other as servers. Each offers the other's items once, but not its own items through the other.
func TestGatewaysInCycle(t *testing.T) {
	for _, version := range []string{"legacy", "modern"} {
		t.Run("two, "+version, func(t *testing.T) {
			webs, _, owns := startPeers(t, version, []int{1}, []int{0})
			webs[0].waitTools("own_toola", "gwb_own_toolb")
			webs[1].waitTools("own_toolb", "gwa_own_toola")
			owns[0].SetTools(true, "toola", "more")
			webs[1].waitTools("own_toolb", "gwa_own_toola", "gwa_own_more")
			webs[0].waitTools("own_toola", "own_more", "gwb_own_toolb")
		})
		t.Run("three, "+version, func(t *testing.T) {
			webs, _, owns := startPeers(t, version, []int{1}, []int{2}, []int{0})
			webs[2].waitTools("own_toolc", "gwa_own_toola", "gwa_gwb_own_toolb")
			owns[2].SetTools(true, "toolc", "more")
			webs[0].waitTools("own_toola", "gwb_own_toolb", "gwb_gwc_own_toolc", "gwb_gwc_own_more")
			webs[1].waitTools("own_toolb", "gwc_own_toolc", "gwc_own_more", "gwc_gwa_own_toola")
			webs[2].waitTools("own_toolc", "own_more", "gwa_own_toola", "gwa_gwb_own_toolb")
		})
	}
}
