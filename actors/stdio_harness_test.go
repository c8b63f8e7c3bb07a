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

// stdioHarness is a gateway with fake servers and one client on stdio.
type stdioHarness struct {
	t       *testing.T
	gateway *Gateway
	in      *io.PipeWriter
	done    chan error

	clientCapabilities string // raw JSON; "" = none

	mu    sync.Mutex
	lines []string
}

func (h *stdioHarness) capabilities() string {
	if h.clientCapabilities == "" {
		return "{}"
	}
	return h.clientCapabilities
}

// startStdio starts a gateway with these servers and connects a client that has not sent anything yet.
func startStdio(t *testing.T, servers map[string]*actortest.Server, change func(*config.Config)) *stdioHarness {
	t.Helper()
	openers := map[string]func(upstream.Sink) upstream.Link{}
	for name, server := range servers {
		openers[name] = server.Open
	}
	return startStdioWith(t, openers, "stdio", Options{}, change)
}

// startStdioWith is like startStdio, with functions that open the links to the servers.
func startStdioWith(t *testing.T, openers map[string]func(upstream.Sink) upstream.Link, kind string, o Options, change func(*config.Config)) *stdioHarness {
	t.Helper()
	return startStdioInProject(t, "", openers, kind, o, change)
}

// startStdioInProject is like startStdioWith, for a client that is bound to a project.
func startStdioInProject(t *testing.T, project string, openers map[string]func(upstream.Sink) upstream.Link, kind string, o Options, change func(*config.Config)) *stdioHarness {
	t.Helper()
	cfg := config.Default()
	cfg.MetaTools = "false" // lists contain only the servers' items; meta_tools_test.go tests the gateway's own
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
	h := &stdioHarness{t: t, gateway: g, done: make(chan error, 1)}
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

func (h *stdioHarness) collect(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		h.mu.Lock()
		h.lines = append(h.lines, lines.Text())
		h.mu.Unlock()
	}
}

func (h *stdioHarness) close() {
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

// send writes lines and returns all messages that the client has received once the bubble is idle.
func (h *stdioHarness) send(lines ...string) []string {
	h.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(h.in, line+"\n"); err != nil {
			h.t.Fatal(err)
		}
	}
	return h.received()
}

// received waits until the bubble is idle, then returns the messages received since the last call.
func (h *stdioHarness) received() []string {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	lines := h.lines
	h.lines = nil
	return lines
}

// roundTrip sends a request and returns its response, which must be the only message.
func (h *stdioHarness) roundTrip(line string) string {
	h.t.Helper()
	got := h.send(line)
	if len(got) != 1 {
		h.t.Fatalf("%s: got %d lines, want 1:\n%s", line, len(got), strings.Join(got, "\n"))
	}
	return got[0]
}

func (h *stdioHarness) initialize() {
	h.t.Helper()
	h.initializeVersion(protocol.Version20251125)
}

func (h *stdioHarness) initializeVersion(version string) {
	h.t.Helper()
	synctest.Wait()
	time.Sleep(time.Second)
	h.roundTrip(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":` + h.capabilities() + `,"clientInfo":{"name":"test","version":"1"}}}`)
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

// inBubble returns a test that runs f with a fake clock.
func inBubble(f func(t *testing.T)) func(*testing.T) {
	return func(t *testing.T) { synctest.Test(t, f) }
}
