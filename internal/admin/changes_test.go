package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/status"
)

// watched opens an admin socket for a gateway that stores catalog changes. It returns the store and the socket's
// server.
func watched(t *testing.T, path string) (*status.CatalogChanges, *Server) {
	t.Helper()
	changes := status.NewCatalogChanges()
	s, err := Listen(path, status.Local{Gateway: &gateway{}, Counters: status.NewMetrics(), Changes: changes}, nil, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return changes, s
}

func change(server string) []status.CatalogChange {
	return []status.CatalogChange{{Topic: "tool-changed", Server: server, Added: []string{server + "_a"}, Counts: status.ChangeCounts{Added: 1}}}
}

// S2.4.1: Follow reports each change, the number of lost ones, and after a reconnection the changes in between.
func TestFollow(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	changes, socket := watched(t, path)
	changes.Add(change("before"))
	heard := make(chan string, 16)
	f := Follower{Path: path, Tell: func(e FollowEvent) error {
		switch {
		case e.Change != nil:
			heard <- fmt.Sprint(e.Change.Number, " ", e.Change.Server)
		case e.Missed > 0:
			heard <- fmt.Sprint("missed ", e.Missed)
		case e.Back:
			heard <- fmt.Sprint("back ", e.Restarted)
		default:
			heard <- "lost"
		}
		return nil
	}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Follow(ctx) }()
	want := func(texts ...string) {
		t.Helper()
		for _, text := range texts {
			select {
			case got := <-heard:
				if got != text {
					t.Fatalf("got event %q, want %q", got, text)
				}
			case <-time.After(time.Minute):
				t.Fatalf("timeout waiting for event %q", text)
			}
		}
	}
	first := ""
	for first == "" { // changes are reported only once the stream is open, which the test cannot observe
		changes.Add(change("first"))
		select {
		case first = <-heard:
			if !strings.HasSuffix(first, " first") {
				t.Fatalf("got event %q, want a change of first", first)
			}
		case <-time.After(50 * time.Millisecond):
		}
	}
	n := changes.Last()
	for newest := fmt.Sprint(n, " first"); first != newest; {
		select {
		case first = <-heard:
		case <-time.After(time.Minute):
			t.Fatalf("timeout waiting for event %q", newest)
		}
	}
	changes.Add(change("second"))
	want(fmt.Sprint(n+1, " second"))

	// The socket of the same gateway is closed and reopened.
	_ = socket.Close()
	want("lost")
	changes.Add(change("between"))
	s, err := Listen(path, status.Local{Gateway: &gateway{}, Counters: status.NewMetrics(), Changes: changes}, nil, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	want("back false", fmt.Sprint(n+2, " between"))

	// While the socket is closed, more changes occur than the gateway retains.
	_ = s.Close()
	want("lost")
	for range 5000 {
		changes.Add(change("much"))
	}
	kept, _ := changes.After(0)
	if s, err = Listen(path, status.Local{Gateway: &gateway{}, Counters: status.NewMetrics(), Changes: changes}, nil, nil, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	want("back false", fmt.Sprint("missed ", 5000-len(kept)), fmt.Sprint(n+2+uint64(5000-len(kept))+1, " much"))
	for range len(kept) - 1 {
		<-heard
	}

	// Another gateway starts numbering again.
	_ = s.Close()
	want("lost")
	other := status.NewCatalogChanges()
	other.Add(change("other"))
	if s, err = Listen(path, status.Local{Gateway: &gateway{}, Counters: status.NewMetrics(), Changes: other}, nil, nil, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	want("back true", "1 other")
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Follow returned %v", err)
	}
}

// Follow returns an error if no gateway answers the first connection, if Tell returns an error, and if the gateway does
// not store catalog changes.
func TestFollowEnds(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	if err := (&Follower{Path: path}).Follow(t.Context()); err == nil {
		t.Error("Follow without a gateway returned no error")
	}
	changes, _ := watched(t, path)
	changes.Add(change("a"))
	enough := errors.New("enough")
	f := Follower{Path: path, Past: true, Tell: func(FollowEvent) error { return enough }}
	if err := f.Follow(t.Context()); err != enough {
		t.Errorf("got %v, want the error of Tell", err)
	}
	old := filepath.Join(shortDir(t), "s")
	s, err := Listen(old, status.Local{Gateway: &gateway{}, Counters: status.NewMetrics()}, nil, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := (&Follower{Path: old}).Follow(t.Context()); !errors.Is(err, ErrNoStream) {
		t.Errorf("gateway without changes: got %v, want ErrNoStream", err)
	}
}

func TestBadRequestsForChanges(t *testing.T) {
	changes := status.NewCatalogChanges()
	changes.Add(change("a"))
	h := private(status.Local{Gateway: &gateway{}, Counters: status.NewMetrics(), Changes: changes}, nil, nil)
	for _, c := range []struct {
		query, id string
		code      int
		want      string
	}{
		{"want=catalog&once", "", 200, `"server":"a"`},
		{"want=catalog&once&after=now", "", 200, `"last":1}`},
		{"want=catalog&once", changes.Boot() + "-1", 200, "event: hello\nid: " + changes.Boot() + "-1\n"},
		{"want=catalog&once", changes.Boot() + "-99", 200, "id: " + changes.Boot() + "-1\n"},
		{"want=catalog&once", "other-99", 200, `"server":"a"`},
		{"want=catalog&once", "nonsense", 400, "is not an id of this stream"},
		{"want=catalog&once&after=x", "", 400, "is not a number"},
		{"want=everything", "", 400, "use one or more of state"},
		{"want=log&once", "", 200, ""},
	} {
		r := httptest.NewRequest(http.MethodGet, "/eventz?"+c.query, nil)
		if c.id != "" {
			r.Header.Set("Last-Event-ID", c.id)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s: got %d %q, want %d with %q", c.query, c.id, w.Code, w.Body, c.code, c.want)
		}
	}
}
