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
	"sync"
	"testing"
	"time"

	"goblin-actor/internal/status"
)

// living is a gateway whose only server changes its state.
type living struct {
	gateway
	mu    sync.Mutex
	state string
}

func (l *living) Status(context.Context) (*status.Snapshot, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &status.Snapshot{Version: "v1", Started: time.Unix(1, 0), Servers: []status.Server{{Name: "always"}}}
	if l.state != "" {
		s.Servers = append(s.Servers, status.Server{Name: "files", State: l.state})
	}
	return s, nil
}

func (l *living) set(state string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = state
}

// heard describes a Notice in a few words.
func heard(n status.Notice) string {
	switch {
	case n.Hello != nil:
		return fmt.Sprint("hello ", n.Back, " ", n.Restarted)
	case n.Lost != nil:
		return "lost"
	case n.Snapshot != nil:
		text := map[bool]string{true: "delta", false: "picture"}[n.Delta != nil]
		for _, s := range n.Snapshot.Servers {
			text += " " + strings.TrimSpace(s.Name+" "+s.State)
		}
		return text
	case n.Log != nil:
		return fmt.Sprint("log ", n.Log[0].Message, " ", n.Missed)
	case n.Catalog != nil:
		return fmt.Sprint("catalog ", n.Catalog[0].Server)
	}
	return "?"
}

// A stream over the socket reports the picture, and changed and removed rows. After the socket was closed, the stream continues. After a
// restart of the gateway, it begins again.
func TestFollowOverTheSocket(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	g, events := &living{state: "waiting"}, new(status.Events)
	log := slog.New(events.Record(slog.NewTextHandler(t.Output(), nil)))
	local := status.Local{Gateway: g, Counters: status.NewMetrics(), Log: events, Changes: status.NewCatalogChanges(), Streams: status.NewStreams("v1"),
		Known: func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") }}
	open := func() *Server {
		s, err := Listen(path, local, nil, nil, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	far, _ := Dial(path)
	ctx, cancel := context.WithCancel(t.Context())
	told, ended := make(chan string, 64), make(chan error, 1)
	go func() {
		ended <- far.Follow(ctx, status.FollowOptions{Want: []status.Want{status.WantState, status.WantLog, status.WantCatalog}, New: true}, func(n status.Notice) error {
			told <- heard(n)
			return nil
		})
	}()
	want := func(texts ...string) {
		t.Helper()
		for _, text := range texts {
			select {
			case got := <-told:
				if got != text {
					t.Fatalf("got %q, want %q", got, text)
				}
			case <-time.After(time.Minute):
				t.Fatalf("timeout waiting for %q", text)
			}
		}
	}
	want("hello false false", "picture always files waiting")
	g.set("hunter2")
	want("delta always files [redacted]")
	g.set("")
	want("delta always")
	local.Changes.Add(change("hunter2"))
	want("catalog [redacted]")
	log.Info("one")
	want("log one 0")

	_ = s.Close()
	want("lost")
	log.Info("meanwhile")
	g.set("ready")
	s = open()
	want("hello true false", "log meanwhile 0", "picture always files ready")

	_ = s.Close()
	want("lost")
	local.Streams, local.Changes, events = status.NewStreams("v2"), status.NewCatalogChanges(), new(status.Events)
	local.Log = events
	slog.New(events.Record(slog.NewTextHandler(t.Output(), nil))).Info("new life")
	s = open()
	defer s.Close()
	want("hello true true", "log new life 0", "picture always files ready")
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Follow returned %v", err)
	}
}

func TestStreamRequests(t *testing.T) {
	h := private(status.Local{Gateway: &gateway{}, Counters: status.NewMetrics(), Log: new(status.Events)}, nil, nil)
	for _, c := range []struct {
		query, id string
		code      int
		want      string
	}{
		{"want=state&once", "", 200, "event: picture\n"},
		{"want=log,log&once", "", 200, "event: hello\n"},
		{"want=calls,state&once", "", 200, `"id":"session/x/1"`},
		{"want=state,everything&once", "", 400, `unknown kind of event "everything"; use one or more of state, calls, sessions, actors, finished, log, lines, catalog, second`},
		{"want=state,&once", "", 400, "unknown kind"},
		{"want=state&every=x&once", "", 400, "is not a duration"},
		{"want=state&once", "x", 400, "is not the id of an event"},
		{"want=log&once", "x", 400, "Last-Event-ID: want the number of an event"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/eventz?"+c.query, nil)
		r.Header.Set("Last-Event-ID", c.id)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s: got %d %q, want %d with %q", c.query, c.id, w.Code, w.Body, c.code, c.want)
		}
	}
}

// With Once, Follow over the socket ends after the picture.
func TestFollowOnce(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	s, err := Listen(path, status.Local{Gateway: &gateway{}, Counters: status.NewMetrics()}, nil, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	far, _ := Dial(path)
	var got []string
	err = far.Follow(t.Context(), status.FollowOptions{Want: []status.Want{status.WantState}, Once: true}, func(n status.Notice) error {
		got = append(got, heard(n))
		return nil
	})
	if want := "[hello false false picture files]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("got %v, %v, want %s", got, err, want)
	}
	if err := far.Follow(t.Context(), status.FollowOptions{Want: []status.Want{"everything"}}, nil); !errors.Is(err, ErrNoStream) {
		t.Errorf("an unknown want: got %v, want ErrNoStream", err)
	}
}
