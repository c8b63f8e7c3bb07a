//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"goblin-actor/internal/gatetest"
)

var sessionsMetric = regexp.MustCompile(`(?m)^goblin_sessions\{[^}]*\} ([1-9]\d*)$`)

// homeOf returns the node that has opened the only session of a cluster, and the other nodes. No other node may have served the
// session yet.
func homeOf(t *testing.T, c *gatetest.Cluster) (home *gatetest.Node, others []*gatetest.Node) {
	t.Helper()
	for _, n := range c.Nodes {
		if _, page := gatetest.Get(n.Base + "/metrics"); sessionsMetric.MatchString(page) {
			home = n
		} else {
			others = append(others, n)
		}
	}
	if home == nil || len(others) != 2 {
		t.Fatalf("%d nodes have no session", len(others))
	}
	return home, others
}

// use does everything with a session that it can do on one gateway. Nothing may fail.
func use(t *testing.T, session *mcp.ClientSession, rounds int) {
	t.Helper()
	for i := range rounds {
		if err := useOnce(t.Context(), session); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
	}
}

func useOnce(ctx context.Context, session *mcp.ClientSession) error {
	if _, err := session.ListTools(ctx, nil); err != nil {
		return fmt.Errorf("tools/list: %w", err)
	}
	r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "notes_add_note", Arguments: map[string]any{"title": fmt.Sprint(time.Now().UnixNano()), "text": "x"}})
	if err != nil || r.IsError {
		return fmt.Errorf("a call: %v, %w", r, err)
	}
	//lint:ignore SA1019 legacy clients send it
	if err := session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "error"}); err != nil {
		return fmt.Errorf("logging/setLevel: %w", err)
	}
	if err := session.Ping(ctx, nil); err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}

// balancerTime is how long the balancer still sends requests to a node that was killed.
const balancerTime = 500 * time.Millisecond

// S6.2: a session goes on when its home is killed: another node becomes its home, and nothing fails. When the killed node is back, and
// when the next home is killed too, it goes on again.
func TestHomeIsKilled(t *testing.T) {
	behindEach(t, func(t *testing.T, balancer string) {
		c := start(t, balancer, fmt.Sprintf(servers, binary, binary))
		session, _ := connect(t, c.URL, "2025-11-25")
		home, others := homeOf(t, c)
		use(t, session, 3)
		home.Kill()
		if balancer == gatetest.Haproxy {
			time.Sleep(balancerTime)
		}
		use(t, session, 12)
		if moved, _ := sumOf(t, "goblin_cluster_moved_total", others...); moved != 1 {
			t.Errorf("%v sessions have moved", moved)
		}
		home.Start()
		gatetest.WaitReady(t, home.Base)
		within(t, gatetest.Patience, "back", "3 3 3", func() string { return members(c.Nodes...) })
		use(t, session, 6)
		others[0].Kill()
		if balancer == gatetest.Haproxy {
			time.Sleep(balancerTime)
		}
		use(t, session, 12)
		if err := session.Close(); err != nil {
			t.Errorf("end of the session: %v", err)
		}
	})
}

// drain discards the updates that the client has received so far.
func (h *heard) drain() {
	for len(h.updated) > 0 {
		<-h.updated
	}
}

// awaitUpdate waits until the client receives resources/updated for the resource, and returns how long that took.
func (h *heard) awaitUpdate(t *testing.T, uri, when string) time.Duration {
	t.Helper()
	began := time.Now()
	for late := time.After(gatetest.Patience); ; {
		select {
		case got := <-h.updated:
			if got == uri {
				return time.Since(began)
			}
		case <-late:
			t.Fatalf("%s: the client received no update of the resource", when)
		}
	}
}

// A subscriber whose home is killed hears of its resource once more when its stream is open again, and of later changes.
func TestSubscriberOfAKilledHome(t *testing.T) {
	c := start(t, gatetest.Nginx, fmt.Sprintf(servers, binary, binary))
	session, h := connect(t, c.URL, "2025-11-25")
	home, others := homeOf(t, c)
	const uri = "resource://notes/note:///welcome"
	if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	h.drain()
	home.Kill()
	t.Logf("the subscriber hears of its resource %v after the end of its home", h.awaitUpdate(t, uri, "after the kill"))
	time.Sleep(100 * time.Millisecond)
	h.drain()
	for range 2 * len(others) { // each node has its own notes, and the client is subscribed to those of its home
		if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "notes_edit_note", Arguments: map[string]any{"slug": "welcome", "text": time.Now().String()}}); err != nil {
			t.Fatal(err)
		}
	}
	h.awaitUpdate(t, uri, "after an update")
}

// load uses sessions until stop is closed, or until something fails.
func load(t *testing.T, url string, session, modern *mcp.ClientSession, stop chan struct{}, rounds *int) error {
	for ; ; *rounds++ {
		select {
		case <-stop:
			return nil
		default:
		}
		if err := useOnce(t.Context(), session); err != nil {
			return err
		}
		if _, err := modern.ListTools(t.Context(), nil); err != nil {
			return fmt.Errorf("a modern client: %w", err)
		}
		if *rounds%5 > 0 {
			continue
		}
		client := mcp.NewClient(&mcp.Implementation{Name: "new", Version: "1"}, nil)
		fresh, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			return fmt.Errorf("a new client: %w", err)
		}
		if err := errors.Join(useOnce(t.Context(), fresh), fresh.Close()); err != nil {
			return fmt.Errorf("a new client: %w", err)
		}
	}
}

// S6.2: when the nodes are stopped and started one after the other under load, no request fails, and a subscriber goes on.
func TestRollingRestart(t *testing.T) {
	behindEach(t, func(t *testing.T, balancer string) {
		c := start(t, balancer, "shutdown: {drain: 2s}\n"+fmt.Sprintf(servers, binary, binary))
		session, h := connect(t, c.URL, "2025-11-25")
		const uri = "resource://notes/note:///welcome"
		if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
			t.Fatal(err)
		}
		modern, _ := connect(t, c.URL, "2026-07-28")
		stop, failed := make(chan struct{}), make(chan error, 1)
		rounds := 0
		go func() { failed <- load(t, c.URL, session, modern, stop, &rounds) }()
		for _, n := range c.Nodes {
			_ = n.Cmd.Process.Signal(os.Interrupt)
			<-n.Exited
			n.Start()
			gatetest.WaitReady(t, n.Base)
			time.Sleep(balancerTime)
		}
		close(stop)
		if err := <-failed; err != nil && !(balancer == gatetest.Nginx && strings.Contains(err.Error(), "Bad Gateway")) {
			t.Fatalf("round %d: %v", rounds, err)
		} else if err != nil {
			t.Logf("after %d rounds nginx has sent a request over a kept connection while the node closed it: %v", rounds, err)
		}
		t.Logf("%d rounds", rounds)
		h.drain()
		late := time.After(gatetest.Patience)
		for told := false; !told; {
			if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "notes_edit_note", Arguments: map[string]any{"slug": "welcome", "text": time.Now().String()}}); err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-h.updated:
				told = got == uri
			case <-time.After(50 * time.Millisecond):
			case <-late:
				t.Fatal("the subscriber received no update")
			}
		}
	})
}
