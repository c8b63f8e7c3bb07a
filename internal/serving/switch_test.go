package serving

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"goblin-actor/actors"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
)

// switching is a Reloader at work for a gateway with a file.
type switching struct {
	t     *testing.T
	file  string
	r     *Reloader
	g     *actors.Gateway
	audit string
	stop  func() // ends everything; the audit log is complete then
}

// newSwitching starts a gateway with text as its file; "" = without a file.
func newSwitching(t *testing.T, text string) *switching {
	t.Helper()
	s := &switching{t: t, audit: filepath.Join(t.TempDir(), "audit")}
	defaults := config.Default()
	cfg := &defaults
	if text != "" {
		s.file = filepath.Join(t.TempDir(), "goblin.yaml")
		s.write(text + "audit: {file: " + s.audit + "}\n")
		var report config.Report
		if cfg, report = config.Load(s.file); cfg == nil {
			t.Fatal(report.Err())
		}
	}
	log := slog.New(slog.DiscardHandler)
	g, err := actors.Start(cfg, actors.Options{Version: "test", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	security, err := NewSecurity(cfg, false, log)
	if err != nil {
		t.Fatal(err)
	}
	s.g, s.r = g, NewReloader(cfg, nil, g, nil, security, new(slog.LevelVar), Redactor(cfg), log)
	ctx, cancel := context.WithCancel(context.Background())
	await := s.r.Start(ctx)
	s.stop = sync.OnceFunc(func() {
		cancel()
		await()
		security.Close()
		if err := Stop(g, 0); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(s.stop)
	return s
}

func (s *switching) write(text string) {
	s.t.Helper()
	if err := os.WriteFile(s.file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// text returns the file without the audit section.
func (s *switching) text() string {
	s.t.Helper()
	raw, err := os.ReadFile(s.file)
	if err != nil {
		s.t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(raw), "audit:")
	return text
}

// act performs an action such as "disable a/t" and checks its error.
func (s *switching) act(line string, want error, words string) {
	s.t.Helper()
	verb, target, _ := strings.Cut(line, " ")
	a := status.Action{Verb: status.Verb(verb)}
	a.Server, a.Tool, _ = strings.Cut(target, "/")
	err := s.r.Switch(s.t.Context(), a)
	if !errors.Is(err, want) || err != nil && !strings.Contains(err.Error(), words) {
		s.t.Errorf("%s: got %v, want %v: …%s…", line, err, want, words)
	}
}

// server returns the state of a server.
func (s *switching) server(name string) status.Server {
	s.t.Helper()
	snapshot, err := s.g.Status(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, server := range snapshot.Servers {
		if server.Name == name {
			return server
		}
	}
	s.t.Fatalf("no server %s", name)
	return status.Server{}
}

// S3.5.3: when a switch returns, it is in the file, in force and in the audit log. One that fails is in the audit log,
// too.
func TestSwitch(t *testing.T) {
	const text = "mcpServers:\n  # notes\n  a: {command: none, startup: lazy}\n"
	s := newSwitching(t, text)
	s.act("disable a", nil, "")
	if got := s.text(); got != "mcpServers:\n  # notes\n  a: {command: none, startup: lazy, disabled: true}\n" || s.server("a").State != "disabled" {
		t.Errorf("disabled: the server is %s with %q", s.server("a").State, got)
	}
	s.act("disable a", status.ErrAlready, `server "a" is already disabled`)
	s.act("enable a", nil, "")
	if s.server("a").State == "disabled" {
		t.Error("the server is still disabled")
	}
	s.act("disable a/t", nil, "")
	if got := s.server("a").DisabledTools; len(got) != 1 || got[0] != "t" {
		t.Errorf("disabled tools: %q", got)
	}
	s.act("disable a/t", status.ErrAlready, `tool "t" of server "a" is already disabled`)
	s.act("enable a/t", nil, "")
	if got := s.server("a").DisabledTools; len(got) != 0 {
		t.Errorf("disabled tools: %q", got)
	}
	s.act("disable b", status.ErrNotThere, `no such server "b"`)
	s.stop()
	log, err := os.ReadFile(s.audit)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"method":"disable","server":"a","outcome":"ok"`, `"method":"disable","server":"a","item":"t","outcome":"ok"`, `"method":"enable","server":"a","outcome":"ok"`,
		`"method":"disable","server":"b","outcome":"failed"`} {
		if !strings.Contains(string(log), want) {
			t.Errorf("the audit log lacks %s:\n%s", want, log)
		}
	}
}

// Without a file, or with one that cannot be edited, nothing changes and the error says what to do.
func TestSwitchRefused(t *testing.T) {
	newSwitching(t, "").act("disable a", status.ErrNotEdited, "without a configuration file; create one")
	for _, c := range []struct {
		name, text, line string
		want             error
		words            string
		broken           func(s *switching) // what happens to the file after the start
	}{
		{"a group", "mcpServers:\n  a: {command: none, group: g}\n", "disable g", status.ErrNotThere, `"g"; it is a group of servers: a`, nil},
		{"an alias", "mcpServers:\n  a: &a {command: none}\n  b: *a\n", "disable b", status.ErrNotEdited, "edit it by hand", nil},
		{"a read-only file", "mcpServers:\n  a: {command: none}\n", "disable a", status.ErrNotEdited, "no write permission; make it writable", func(s *switching) { _ = os.Chmod(s.file, 0o400) }},
		{"a missing file", "mcpServers:\n  a: {command: none}\n", "disable a", status.ErrNotEdited, "goblin.yaml does not exist", func(s *switching) { _ = os.Remove(s.file) }},
		{"an invalid file", "mcpServers:\n  a: {command: none}\n", "disable a", status.ErrNotEdited, "correct it first: ", func(s *switching) { s.write("mcpServers:\n  a: {comand: none}\n") }},
		{"a file that is rejected", "policy: {roles: {r: {}}}\nmcpServers:\n  a: {command: none}\n", "disable a", status.ErrNotReloaded, `says that server "a" is disabled, but: the configuration was not reloaded: the new configuration has no policy`,
			func(s *switching) { s.write("mcpServers:\n  a: {command: none}\n") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSwitching(t, c.text)
			if c.broken != nil {
				c.broken(s)
			}
			s.act(c.line, c.want, c.words)
			if snapshot, err := s.g.Status(t.Context()); err != nil || len(snapshot.Servers) > 0 && snapshot.Servers[0].State == "disabled" {
				t.Errorf("status %+v, %v", snapshot, err)
			}
		})
	}
}

// Concurrent switches of different servers do not overwrite each other. If two callers disable the same server, one of them gets an
// error.
func TestSwitchesAtOnce(t *testing.T) {
	text := "mcpServers:\n"
	names := strings.Split("abcdefgh", "")
	for _, name := range names {
		text += "  " + name + ": {command: none, startup: lazy}\n"
	}
	s := newSwitching(t, text)
	errs := make(chan error, 2*len(names))
	var all sync.WaitGroup
	for _, name := range append(names, names...) {
		all.Go(func() { errs <- s.r.Switch(context.Background(), status.Action{Verb: status.Disable, Server: name}) })
	}
	all.Wait()
	close(errs)
	told := 0
	for err := range errs {
		if err != nil {
			told++
			if !errors.Is(err, status.ErrAlready) {
				t.Error(err)
			}
		}
	}
	if got := strings.Count(s.text(), "disabled: true"); got != len(names) || told != len(names) {
		t.Errorf("%d servers are disabled and %d callers were told; want %d each:\n%s", got, told, len(names), s.text())
	}
}

// A caller that stops waiting while the gateway is busy gets an error that says that nothing was changed.
func TestSwitchWhileBusy(t *testing.T) {
	s := newSwitching(t, "mcpServers:\n  a: {command: none, startup: lazy}\n")
	busy, free := make(chan bool), make(chan bool)
	go func() {
		_, _ = s.r.run(context.Background(), func(context.Context) error { busy <- true; <-free; return nil })
	}()
	<-busy
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.r.Switch(ctx, status.Action{Verb: status.Disable, Server: "a"}); !errors.Is(err, status.ErrNotEdited) || !strings.Contains(err.Error(), "busy") {
		t.Error(err)
	}
	close(free)
	if strings.Contains(s.text(), "disabled") {
		t.Error("the file was changed")
	}
}
