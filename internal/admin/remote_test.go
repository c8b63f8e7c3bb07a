package admin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// gateway is a status.Gateway with one server, call, subscription and tool.
type gateway struct{ acted []status.Action }

func (*gateway) Status(context.Context) (*status.Snapshot, error) {
	return &status.Snapshot{Version: "v1", Servers: []status.Server{{Name: "files", InFlight: 2}}, Calls: []status.Call{{ID: "session/x/1"}},
		Subscriptions: []status.Subscription{{URI: "resource://a/b"}}}, nil
}

func (*gateway) Items(_ context.Context, known uint64) (*status.Items, error) {
	if known == 7 {
		return nil, nil
	}
	return &status.Items{Version: 7, Tools: []status.Item{{Public: "files_read", Size: -1}}}, nil
}

func (*gateway) Logins(context.Context) ([]status.Login, error) {
	return []status.Login{{Server: "github", Whose: "ada", State: "needs-login"}}, nil
}

func (*gateway) Payloads(_ context.Context, q status.PayloadQuery) ([]status.KeptPayloads, error) {
	at := time.Unix(1, 5).UTC()
	return []status.KeptPayloads{{Keeping: status.Keeping{Server: "files", Began: at, Until: at, Calls: 1, Most: 50}, Payloads: []status.CallPayload{
		{Call: q.Call, Method: "tools/call", Item: "read", Began: at, Ended: at, Request: status.Payload{Bytes: 9, Shape: "{}", Text: `{"a": "b…`, Cut: true}, Withheld: "it is"}}}}, nil
}

func (*gateway) Records(_ context.Context, q status.RecordQuery) ([]status.Recording, error) {
	at := time.Unix(1, 5).UTC()
	return []status.Recording{{Actor: "gateway/desk/0" + q.Actor, Began: at, Until: at, Handled: 1, Messages: []status.RecordedMessage{
		{Number: q.After + 3, At: at, Type: "message.Done", Class: "outcome", Call: q.Call, Bytes: 12, Depth: 1, Phase: "ready"}}}}, nil
}

func (g *gateway) Act(_ context.Context, a status.Action) error {
	g.acted = append(g.acted, a)
	if a.Verb == status.Reload {
		return fmt.Errorf("%w: goblin.yaml:1:1: no", status.ErrNotReloaded)
	}
	if a.Verb == status.Record && a.Seconds > 600 {
		return fmt.Errorf("record messages for %d seconds: %w", a.Seconds, status.ErrBadAction)
	}
	if a.Server == "absent" {
		return fmt.Errorf("restart: %w", status.ErrNotThere)
	}
	return nil
}

func TestRemoteEqualsLocal(t *testing.T) {
	g, events := &gateway{}, new(status.Events)
	log := slog.New(events.Record(slog.NewTextHandler(io.Discard, nil)))
	log.Warn("first", "server", "files")
	log.Info("second\nline", "k", "v")
	local := status.Local{Gateway: g, Counters: status.NewMetrics(), Log: events}
	path := filepath.Join(shortDir(t), "s")
	s, err := Listen(path, local, nil, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	far, err := Dial(path)
	if err != nil {
		t.Fatal(err)
	}
	same := func(name string, ask func(status.Source) (any, error)) {
		t.Helper()
		want, err1 := ask(local)
		got, err2 := ask(far)
		if diff := cmp.Diff(want, got); diff != "" || err1 != nil || err2 != nil {
			t.Errorf("%s: errors %v, %v; (-local +remote)\n%s", name, err1, err2, diff)
		}
	}
	ctx := t.Context()
	same("Status", func(s status.Source) (any, error) { return s.Status(ctx) })
	same("Items", func(s status.Source) (any, error) { return s.Items(ctx, 0) })
	same("Items, known", func(s status.Source) (any, error) { return s.Items(ctx, 7) })
	log.With("server", "files").Debug(status.MessageStderr, "line", "oops")
	same("Lines", func(s status.Source) (any, error) { return s.Lines(ctx, "", 0) })
	same("Lines of a server", func(s status.Source) (any, error) { return s.Lines(ctx, "files", 1) })
	local.Counters.Server("files").Ended(status.Ended{Session: "a", Method: protocol.MethodToolsCall, Item: "x", Began: time.Unix(1, 0).UTC(), Took: time.Second})
	same("Users", func(s status.Source) (any, error) { return s.Users(ctx, "lo") })
	same("Users, none", func(s status.Source) (any, error) { return s.Users(ctx, "a&b") })
	same("Logins", func(s status.Source) (any, error) { return s.Logins(ctx) })
	same("Denials", func(s status.Source) (any, error) { return s.Denials(ctx) })
	same("Nodes", func(s status.Source) (any, error) { return s.Nodes(ctx) })
	same("Usage", func(s status.Source) (any, error) { return s.Usage(ctx) })
	same("Item", func(s status.Source) (any, error) { return s.Item(ctx, "tool", "files_read") })
	same("Records", func(s status.Source) (any, error) {
		return s.Records(ctx, status.RecordQuery{Actor: "a&b", Call: "desk/0/812", After: 7})
	})
	same("Payloads", func(s status.Source) (any, error) {
		return s.Payloads(ctx, status.PayloadQuery{Call: "desk/0/812"})
	})
	same("Finished", func(s status.Source) (any, error) { return s.Finished(ctx, "files", 0) })
	for i := range 3 {
		got, err := far.Events(ctx, uint64(i))
		if want := events.After(uint64(i)); err != nil || len(got) != len(want) || len(got) > 0 && got[0].Message != want[0].Message {
			t.Errorf("Events(%d): got %v, %v, want %v", i, got, err, want)
		}
	}
	if text, err := far.Metrics(ctx); err != nil || !strings.Contains(text, `goblin_in_flight{server="files"} 2`) {
		t.Errorf("Metrics: %v", err)
	}
	if err := far.Act(ctx, status.Action{Verb: status.Restart, Server: "files"}); err != nil {
		t.Error(err)
	}
	if err := far.Act(ctx, status.Action{Verb: status.Restart, Server: "absent"}); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("Act on an unknown server: got %v", err)
	}
	if want := (status.Action{Verb: status.Restart, Server: "files"}); len(g.acted) != 2 || g.acted[0] != want {
		t.Errorf("the gateway got the actions %+v, want first %+v", g.acted, want)
	}
	s.Close()
	if _, err := far.Status(ctx); err == nil {
		t.Error("Status succeeds after the gateway has stopped")
	}
}

func TestEventsContinue(t *testing.T) {
	events := new(status.Events)
	log := slog.New(events.Record(slog.NewTextHandler(io.Discard, nil)))
	srv := httptest.NewServer(private(status.Local{Gateway: &gateway{}, Counters: status.NewMetrics(), Log: events}, nil, nil))
	defer srv.Close()
	log.Info("known")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+"/eventz", nil)
	req.Header.Set("Last-Event-ID", "1")
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	log.Info("news")
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data: ") {
			break
		}
	}
	if !strings.Contains(lines.Text(), `"message":"news"`) {
		t.Errorf("got %q, %v; want the new event", lines.Text(), lines.Err())
	}
	cancel()
	for lines.Scan() {
	}
	if !errors.Is(lines.Err(), context.Canceled) {
		t.Errorf("the stream ended with %v, want context.Canceled", lines.Err())
	}
}

func TestBadRequestsOnTheSocket(t *testing.T) {
	h := private(status.Local{Gateway: &gateway{}, Counters: status.NewMetrics()}, nil, nil)
	for _, c := range []struct {
		method, path, body string
		code               int
	}{
		{"GET", "/catalogz?known=x", "", 400},
		{"GET", "/catalogz?known=7", "", 304},
		{"GET", "/eventz?after=-1", "", 400},
		{"GET", "/eventz?once", "", 200},
		{"POST", "/actions/restart", "not json", 400},
		{"POST", "/actions/restart", strings.Repeat(" ", maxActionBytes+1), 400},
		{"POST", "/actions/restart", `{"server":"absent"}`, 404},
		{"POST", "/actions/restart", `{"server":"files"}`, 204},
		{"POST", "/actions/reload", `{}`, 404}, // this process has no configuration file
		{"POST", "/actions/record", `{"actor":"gateway/desk/0","seconds":60}`, 204},
		{"POST", "/actions/record", `{"actor":"gateway/desk/0","seconds":601}`, 400},
		{"GET", "/recordz?actor=gateway/desk/0", "", 200},
		{"GET", "/recordz?after=7", "", 200},
		{"GET", "/recordz?after=x", "", 400},
		{"GET", "/recordz?after=-1", "", 400},
		{"POST", "/recordz", "", 405},
		{"GET", "/actions/restart", "", 405},
		{"POST", "/statusz", "", 405},
		{"GET", "/serverz", "", 200},
		{"GET", "/subscriptionz", "", 200},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, c.path, strings.NewReader(c.body)))
		if w.Code != c.code {
			t.Errorf("%s %s: got %d %q, want %d", c.method, c.path, w.Code, w.Body, c.code)
		}
	}
}

// ?after skips recorded messages up to that number, and seconds that began before that time.
func TestPagesAfter(t *testing.T) {
	h := private(status.Local{Gateway: &gateway{}, Counters: status.NewMetrics()}, nil, nil)
	for path, want := range map[string]string{
		"/recordz": `"number":3`, "/recordz?after=7&call=a": `"number":10`, "/secondz": `"start":100`, "/secondz?after=101": `"start":101`,
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: got %d %s, want %s", path, w.Code, w.Body, want)
		}
	}
}
