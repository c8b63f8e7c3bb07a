package actors

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/upstream"
)

// house is a gateway over fake servers with one client on a pipe.
type house struct {
	t       *testing.T
	gateway *Gateway
	in      *io.PipeWriter
	done    chan error

	can string // the client's capabilities, raw JSON; "" = none

	mu    sync.Mutex
	lines []string
}

func (h *house) capabilities() string {
	if h.can == "" {
		return "{}"
	}
	return h.can
}

// open starts a gateway over the servers and a client that has not said anything yet.
func open(t *testing.T, servers map[string]*actortest.Server, change func(*config.Config)) *house {
	t.Helper()
	openers := map[string]func(upstream.Sink) upstream.Link{}
	for name, server := range servers {
		openers[name] = server.Open
	}
	return openOn(t, openers, "stdio", Options{}, change)
}

// openOn is open over anything that can be connected to.
func openOn(t *testing.T, openers map[string]func(upstream.Sink) upstream.Link, kind string, o Options, change func(*config.Config)) *house {
	t.Helper()
	return openIn(t, "", openers, kind, o, change)
}

// openIn is openOn for a client that is in a project.
func openIn(t *testing.T, project string, openers map[string]func(upstream.Sink) upstream.Link, kind string, o Options, change func(*config.Config)) *house {
	t.Helper()
	cfg := config.Default()
	cfg.MetaTools = "false" // lists hold what the servers have; gateway_meta_test.go has the gateway's own
	for _, name := range []string{"one", "two"} {
		if openers[name] == nil {
			continue
		}
		server := config.DefaultServer()
		server.Name, server.Written, server.Command, server.Order = name, name, "fake", len(cfg.Servers)
		cfg.Servers = append(cfg.Servers, server)
	}
	if change != nil {
		change(&cfg)
	}
	log := cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Version, o.Log = "test", log
	if o.Open == nil {
		o.Open = func(server config.Server, _ int) (func(upstream.Sink) upstream.Link, string) {
			return openers[server.Name], kind
		}
	}
	g, err := Start(&cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	front, err := g.Stdio(t.Context(), project)
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, gateway: g, done: make(chan error, 1)}
	in, out := io.Pipe()
	answers, sink := io.Pipe()
	h.in = out
	go func() {
		h.done <- downstream.ServeStdio(context.Background(), in, sink, front, downstream.Options{MaxMessageBytes: 1 << 20}, log)
		sink.Close()
	}()
	go h.collect(answers)
	return h
}

func (h *house) collect(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		h.mu.Lock()
		h.lines = append(h.lines, lines.Text())
		h.mu.Unlock()
	}
}

func (h *house) close() {
	h.t.Helper()
	h.in.Close()
	if err := <-h.done; err != nil {
		h.t.Errorf("serve stdio: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := h.gateway.Stop(ctx, time.Second); err != nil {
		h.t.Errorf("stop: %v", err)
	}
}

// send writes lines and returns everything that came in answer once all is quiet.
func (h *house) send(lines ...string) []string {
	h.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(h.in, line+"\n"); err != nil {
			h.t.Fatal(err)
		}
	}
	return h.got()
}

func (h *house) got() []string {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	lines := h.lines
	h.lines = nil
	return lines
}

// one is send for a request with exactly one answer.
func (h *house) one(line string) string {
	h.t.Helper()
	got := h.send(line)
	if len(got) != 1 {
		h.t.Fatalf("%s: got %d lines, want 1:\n%s", line, len(got), strings.Join(got, "\n"))
	}
	return got[0]
}

func (h *house) initialize() {
	h.t.Helper()
	h.initializeVersion(protocol.Version20251125)
}

func (h *house) initializeVersion(version string) {
	h.t.Helper()
	synctest.Wait()
	time.Sleep(time.Second)
	h.one(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":` + h.capabilities() + `,"clientInfo":{"name":"test","version":"1"}}}`)
	if got := h.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); len(got) != 0 {
		h.t.Fatalf("after initialized: %v", got)
	}
}

func toolNames(t *testing.T, answer string) []string {
	t.Helper()
	var a struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(answer), &a); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	var list []string
	for _, tool := range a.Result.Tools {
		list = append(list, tool.Name)
	}
	return list
}

func within(f func(t *testing.T)) func(*testing.T) {
	return func(t *testing.T) { synctest.Test(t, f) }
}
