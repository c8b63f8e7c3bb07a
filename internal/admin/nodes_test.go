package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/status"
)

// Requests for another node reach it through the gateway's socket, and its answers, errors and streams come back.
func TestRequestsForOtherNodes(t *testing.T) {
	here, there := &gateway{}, &living{state: "ready"}
	far := ServeNodes(status.Local{Gateway: there, Counters: status.NewMetrics(), Log: new(status.Events), Streams: status.NewStreams("v1")}, nil, slog.New(slog.DiscardHandler))
	defer far.Close()
	dial := func(_ context.Context, node string) (net.Conn, error) {
		switch node {
		case "b b":
			mine, its := net.Pipe()
			go far.Upgrade(nodePath, nodeProtocol)(its)
			return mine, nil
		case "dead":
			return nil, errors.New("connection refused")
		}
		return nil, fmt.Errorf("node %q: %w", node, status.ErrNotThere)
	}
	path := filepath.Join(shortDir(t), "s")
	s, err := Listen(path, status.Local{Gateway: here, Counters: status.NewMetrics()}, nil, dial, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := t.Context()

	source, err := Dial(AddressOf(path, "b b"))
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := source.Status(ctx)
	if err != nil || len(snapshot.Servers) != 2 || snapshot.Servers[1].State != "ready" {
		t.Errorf("status of the node: %+v, %v", snapshot, err)
	}
	told := make(chan string, 8)
	following, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err = source.Follow(following, status.FollowOptions{Want: []status.Want{status.WantState}}, func(n status.Notice) error {
		if told <- heard(n); n.Snapshot == nil {
			return nil
		}
		return errEnough
	})
	if !errors.Is(err, errEnough) || len(told) != 2 || <-told != "hello false false" {
		t.Errorf("stream of the node: %v", err)
	}
	if err := source.Act(ctx, status.Action{Verb: status.Drain}); err == nil || !strings.Contains(err.Error(), status.ErrUnknownVerb.Error()) {
		t.Errorf("an action that the node refuses: %v", err)
	}
	if len(here.acted) != 0 {
		t.Errorf("the gateway itself got %v", here.acted)
	}
	for node, want := range map[string]string{"dead": "connection refused", "none": `node "none": not found`} {
		source, _ := Dial(AddressOf(path, node))
		if _, err := source.Status(ctx); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", node, err, want)
		}
	}
}

var errEnough = errors.New("enough")

// A gateway that runs alone refuses requests for a node.
func TestNodeWithoutCluster(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	s, err := Listen(path, status.Local{Gateway: &gateway{}, Counters: status.NewMetrics()}, nil, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = Fetch(t.Context(), AddressOf(path, "b"))
	if err == nil || !strings.Contains(err.Error(), "not a node of a cluster") {
		t.Errorf("%v", err)
	}
}

// Close ends all connections, and later ones are closed at once.
func TestNodeServerCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := ServeNodes(status.Local{Gateway: &gateway{}, Counters: status.NewMetrics()}, nil, slog.New(slog.DiscardHandler))
		mine, its := net.Pipe()
		s.Upgrade(nodePath, nodeProtocol)(its)
		if _, err := fmt.Fprintf(mine, "GET /healthz HTTP/1.1\r\nHost: b\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		buffer := make([]byte, 4096)
		if n, err := mine.Read(buffer); err != nil || !strings.HasPrefix(string(buffer[:n]), "HTTP/1.1 "+fmt.Sprint(http.StatusOK)) {
			t.Fatalf("%q, %v", buffer[:n], err)
		}
		s.Close()
		if _, err := mine.Read(buffer); err == nil {
			for err == nil { // the rest of the answer
				_, err = mine.Read(buffer)
			}
		}
		late, its := net.Pipe()
		s.Upgrade(nodePath, nodeProtocol)(its)
		if _, err := late.Read(buffer); err == nil {
			t.Error("a connection after Close is served")
		}
	})
}
