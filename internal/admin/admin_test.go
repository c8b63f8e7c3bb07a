package admin

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goblin-actor/internal/identity"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// fixedStatus is a Source with a fixed result.
type fixedStatus struct {
	s   *status.Snapshot
	err error
}

// local returns a status.Source with a fixed result.
func local(src fixedStatus) status.Source {
	return status.Local{Gateway: src, Counters: status.NewMetrics(), Log: new(status.Events)}
}

func (f fixedStatus) Items(context.Context, uint64) (*status.Items, error) {
	return &status.Items{}, f.err
}

func (f fixedStatus) Logins(context.Context) ([]status.Login, error) { return nil, f.err }

func (f fixedStatus) Records(context.Context, status.RecordQuery) ([]status.Recording, error) {
	return nil, f.err
}

func (f fixedStatus) Payloads(context.Context, status.PayloadQuery) ([]status.KeptPayloads, error) {
	return nil, f.err
}

func (f fixedStatus) Act(context.Context, status.Action) error { return f.err }

func (f fixedStatus) Status(context.Context) (*status.Snapshot, error) { return f.s, f.err }

func TestPublicRoutes(t *testing.T) {
	m := status.NewMetrics()
	m.Server("files").Call(protocol.MethodToolsCall, status.OutcomeOK, .1)
	ready := &status.Snapshot{Ready: true, Failed: []string{"broken"}, Servers: []status.Server{{Name: "files", InFlight: 2}}}
	cases := []struct {
		name, method, path string
		src                fixedStatus
		code               int
		want               string // part of the body
	}{
		{"alive", "GET", "/healthz", fixedStatus{err: errors.New("stuck")}, 200, "ok"},
		{"ready, one failed", "GET", "/readyz", fixedStatus{s: ready}, 200, `"failed":["broken"]`},
		{"not ready", "GET", "/readyz", fixedStatus{s: &status.Snapshot{Waiting: []string{"slow"}}}, 503, `"waiting":["slow"]`},
		{"draining", "GET", "/readyz", fixedStatus{s: &status.Snapshot{Ready: true, Draining: true}}, 503, `"draining":true`},
		{"no status", "GET", "/readyz", fixedStatus{err: errors.New("stuck")}, 503, "stuck"},
		{"counters", "GET", "/metrics", fixedStatus{s: ready}, 200, `goblin_calls_total{server="files",method="tools/call",outcome="ok"} 1`},
		{"states", "GET", "/metrics", fixedStatus{s: ready}, 200, `goblin_in_flight{server="files"} 2`},
		{"counters without status", "GET", "/metrics", fixedStatus{err: errors.New("stuck")}, 200, "goblin_calls_total"},
		{"no writing", "POST", "/healthz", fixedStatus{s: ready}, 405, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(c.method, c.path, nil)
			Public(c.src, m)(c.path).ServeHTTP(w, r.WithContext(identity.In(r.Context(), identity.Local)))
			if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
				t.Errorf("%s %s: got %d %q, want %d with %q", c.method, c.path, w.Code, w.Body, c.code, c.want)
			}
		})
	}
	for _, src := range []fixedStatus{{s: ready}, {s: &status.Snapshot{Waiting: []string{"slow"}}}} {
		w := httptest.NewRecorder()
		Public(src, m)("/readyz").ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
		if body := w.Body.String(); strings.Contains(body, "broken") || strings.Contains(body, "slow") || !strings.Contains(body, `"ready":`) {
			t.Errorf("unauthenticated /readyz: got %s, want no names of servers", body)
		}
	}
	reader, viewer := &identity.Principal{ID: "key:a", Rights: "reader"}, &identity.Principal{ID: "key:b", Rights: "watch", Admin: identity.AdminView}
	for who, sees := range map[*identity.Principal]bool{nil: false, reader: false, viewer: true} {
		for _, path := range []string{"/metrics", "/readyz"} {
			w, r := httptest.NewRecorder(), httptest.NewRequest("GET", path, nil)
			Public(fixedStatus{s: ready}, m)(path).ServeHTTP(w, r.WithContext(identity.In(r.Context(), who)))
			if body := w.Body.String(); (strings.Contains(body, "files") || strings.Contains(body, "broken")) != sees || path == "/metrics" && (w.Code == http.StatusForbidden) == sees {
				t.Errorf("%s for %+v: got %d %s", path, who, w.Code, body)
			}
		}
	}
	for who, hint := range map[*identity.Principal]string{{ID: "key:a", Name: "a", Rights: "reader"}: "a role of the key a", {ID: identity.LocalID, Rights: "-"}: "a role bound with local: true"} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil)
		Public(fixedStatus{s: ready}, m)("/metrics").ServeHTTP(w, r.WithContext(identity.In(r.Context(), who)))
		if body := w.Body.String(); !strings.Contains(body, "\nhint: add admin: view to "+hint+"\n") {
			t.Errorf("%s got %s", who.ID, body)
		}
	}
	for _, path := range []string{"/statusz", "/debug/pprof/", "/", "/mcp"} {
		if Public(fixedStatus{s: ready}, m)(path) != nil {
			t.Errorf("%s is served on public listeners", path)
		}
	}
}

func TestPrivateRoutes(t *testing.T) {
	h := private(local(fixedStatus{s: &status.Snapshot{Version: "v1", Listen: []string{"127.0.0.1:1"}}}), nil, nil)
	for path, want := range map[string]string{
		"/statusz":             `"version":"v1"`,
		"/statusz?pretty":      `  "version": "v1"`,
		"/healthz":             "ok",
		"/metrics":             "go_goroutines",
		"/debug/pprof/":        "goroutine",
		"/debug/pprof/cmdline": "\x00",
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if path == "/debug/pprof/cmdline" { // it prints arguments, which may hold secrets
			if w.Code == 200 && strings.Contains(w.Body.String(), os.Args[0]) {
				t.Error("the command line is served; it may contain secrets")
			}
			continue
		}
		if w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("GET %s: got %d, want %q in the body", path, w.Code, want)
		}
	}
}

func open(t *testing.T, path string, src fixedStatus) *Server {
	t.Helper()
	s, err := Listen(path, local(src), nil, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestSocketIsPrivateAndRemoved(t *testing.T) {
	dir := filepath.Join(shortDir(t), "g")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "8730.sock")
	s := open(t, path, fixedStatus{s: &status.Snapshot{Version: "v1"}})
	if runtime.GOOS != "windows" {
		for name, want := range map[string]os.FileMode{dir: 0o700, path: 0o600} {
			info, err := os.Stat(name)
			if err != nil || info.Mode().Perm() != want {
				t.Errorf("mode of %s: got %v, %v, want %v", name, info.Mode().Perm(), err, want)
			}
		}
	}
	got, err := Fetch(t.Context(), path)
	if err != nil || got.Version != "v1" {
		t.Fatalf("Fetch: got %+v, %v", got, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("after Close the socket still exists: %v", err)
	}
	if _, err := Fetch(t.Context(), path); err == nil {
		t.Error("Fetch succeeds after Close")
	}
}

func TestListenOnExistingPath(t *testing.T) {
	dir := shortDir(t)
	src := fixedStatus{s: &status.Snapshot{}}
	listen := func(path string) error {
		s, err := Listen(path, local(src), nil, nil, slog.New(slog.DiscardHandler))
		if err == nil {
			_ = s.Close()
		}
		return err
	}
	t.Run("a live socket is kept", func(t *testing.T) {
		path := filepath.Join(dir, "live")
		open(t, path, src)
		if err := listen(path); !errors.Is(err, ErrInUse) {
			t.Errorf("got %v, want ErrInUse", err)
		}
		if _, err := Fetch(t.Context(), path); err != nil {
			t.Errorf("the first gateway is no longer reachable: %v", err)
		}
	})
	t.Run("a stale socket is removed", func(t *testing.T) {
		path := filepath.Join(dir, "stale")
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		_ = l.Close()
		if err := listen(path); err != nil {
			t.Error(err)
		}
	})
	t.Run("a regular file is kept", func(t *testing.T) {
		path := filepath.Join(dir, "file")
		if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := listen(path); !errors.Is(err, ErrNotSocket) {
			t.Errorf("got %v, want ErrNotSocket", err)
		}
		if text, _ := os.ReadFile(path); string(text) != "precious" {
			t.Error("the file was changed")
		}
	})
	t.Run("too long", func(t *testing.T) {
		long := filepath.Join(dir, strings.Repeat("x", 120))
		if err := listen(long); !errors.Is(err, ErrPathTooLong) {
			t.Errorf("Listen: %v, want ErrPathTooLong", err)
		}
		if _, err := Fetch(t.Context(), long); !errors.Is(err, ErrPathTooLong) {
			t.Errorf("Fetch: %v, want ErrPathTooLong", err)
		}
	})
}

func TestFetchReturnsGatewayError(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	open(t, path, fixedStatus{err: errors.New("the monitor is gone")})
	if _, err := Fetch(t.Context(), path); err == nil || !strings.Contains(err.Error(), "the monitor is gone") {
		t.Errorf("got %v, want the gateway's error", err)
	}
}

// /statusz returns the complete Snapshot.
func TestStatusRoundTrip(t *testing.T) {
	want := &status.Snapshot{Ready: true, Backends: []status.Backend{{Server: "a", PID: 7, Incarnation: 3}}, Calls: []status.Call{{Item: "x"}}}
	w := httptest.NewRecorder()
	private(local(fixedStatus{s: want}), nil, nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/statusz", nil))
	var got status.Snapshot
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, &got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// shortDir returns a temporary directory whose path leaves room for a socket's name (that of t.TempDir may not).
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ga")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
