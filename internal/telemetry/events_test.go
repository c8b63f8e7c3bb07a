package telemetry_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	tracedata "go.opentelemetry.io/proto/otlp/trace/v1"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/gatetest"
	"goblin-actor/internal/telemetry/otlptest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

// eventIn returns an event of a span, or nil.
func eventIn(span *tracedata.Span, name string) *tracedata.Span_Event {
	for _, e := range span.Events {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// The SERVER span of a call that waited for a connection has an event with the length of the wait.
func TestQueueWaitIsAnEvent(t *testing.T) {
	release := make(chan struct{})
	fake := &actortest.Server{Tools: []string{"echo"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
		go func() {
			<-release
			_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[]}`)))
		}()
	}}
	r := otlptest.New(t, nil)
	g := start(t, r.URL, fake.Open, nil, func(c *config.Config) { c.Servers[0].MaxConcurrent = 1 })
	session := g.begin()
	var calls sync.WaitGroup
	for i := range 2 {
		calls.Go(func() { g.post(strings.Replace(plainCall, `"id":3`, fmt.Sprintf(`"id":%d`, 3+i), 1), session...) })
		gatetest.WaitFor(t, "one call runs, and the other one waits", func() (bool, string) {
			status, err := g.actors.Status(t.Context())
			return err == nil && status.Servers[0].InFlight == 1 && status.Servers[0].Queued == i, fmt.Sprint(status.Servers, err)
		})
	}
	close(release)
	calls.Wait()
	waited := 0
	for _, span := range r.Spans(t, 5) {
		if e := eventIn(span, "goblin.queued"); e != nil {
			waited++
			wait := otlptest.Attributes(e.Attributes)["goblin.queue.wait"]
			if span.Name != "tools/call one_echo" || !strings.HasPrefix(wait, "double_value:") || wait == "double_value:0" {
				t.Errorf("%s waited %q", span.Name, wait)
			}
		}
	}
	if waited != 1 {
		t.Errorf("%d spans have the event goblin.queued, want 1", waited)
	}
}

// unwritten is a link. Among all links that share over, the first call is reported as not written.
type unwritten struct {
	upstream.Link
	sink upstream.Sink
	over *atomic.Bool // shared by the links of all connections
}

func (l unwritten) Send(o upstream.Outgoing) {
	if bytes.Contains(o.Frame, []byte("tools/call")) && l.over.CompareAndSwap(false, true) {
		go func() { _ = l.sink(context.Background(), upstream.NotSent{Ticket: o.Ticket, Err: upstream.ErrClosed}) }()
		return
	}
	l.Link.Send(o)
}

// If a call is retried on another connection, its CLIENT span covers both attempts and has an event with the reason.
func TestRetryIsAnEvent(t *testing.T) {
	var over atomic.Bool
	fake, r := legacyServer(), otlptest.New(t, nil)
	open := func(sink upstream.Sink) upstream.Link { return unwritten{fake.Open(sink), sink, &over} }
	g := start(t, r.URL, open, nil, func(c *config.Config) { c.Servers[0].Replicas = 2 })
	session := g.begin()
	gatetest.WaitFor(t, "both replicas", func() (bool, string) {
		status, err := g.actors.Status(t.Context())
		return err == nil && len(status.Servers) == 1 && status.Servers[0].ReadyCount == 2, fmt.Sprint(status.Servers, err)
	})
	if answer, _ := g.post(plainCall, session...); !strings.Contains(answer, "isError") {
		t.Fatal(answer)
	}
	spans := r.Spans(t, 3)
	client, server := spans[len(spans)-2], spans[len(spans)-1]
	e := eventIn(client, "goblin.retried")
	if e == nil || eventIn(server, "goblin.retried") != nil {
		t.Fatalf("the CLIENT span has no event, or the SERVER span has it: %v\n%v", client, server)
	}
	if e.TimeUnixNano < client.StartTimeUnixNano || e.TimeUnixNano > client.EndTimeUnixNano || otlptest.Attributes(e.Attributes)["goblin.retry.reason"] == "" {
		t.Errorf("%v in %v", e, client)
	}
	if n := len(fake.Received("tools/call")); n != 1 {
		t.Errorf("the server got %d calls, want 1", n)
	}
}

// Each request of a batch has its own span, with its own parent and a link to the HTTP request.
func TestBatches(t *testing.T) {
	r := otlptest.New(t, nil)
	g := start(t, r.URL, legacyServer().Open, nil)
	_, session := g.post(strings.Replace(initialize, "2025-11-25", "2025-03-26", 1))
	traced := strings.Replace(plainCall, `"params":{`, `"params":{"_meta":{"traceparent":"00-`+clientTrace+`-`+clientSpan+`-01"},`, 1)
	batch := `[` + traced + `,{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}},` + strings.Replace(plainCall, `"id":3`, `"id":4`, 1) + `]`
	answer, _ := g.post(batch, "Mcp-Session-Id", session, "Traceparent", "00-"+headerTrace+"-"+headerSpan+"-01")
	if strings.Count(answer, "isError") != 2 {
		t.Fatal(answer)
	}
	byID := map[string]*tracedata.Span{}
	for _, span := range r.Spans(t, 5) {
		if span.Kind == tracedata.Span_SPAN_KIND_SERVER && span.Name != "initialize" {
			byID[otlptest.Attributes(span.Attributes)["jsonrpc.request.id"]] = span
		}
	}
	first, second := byID["3"], byID["4"]
	if len(byID) != 2 || first == nil || second == nil {
		t.Fatalf("spans: %v", byID)
	}
	if hex.EncodeToString(first.TraceId) != clientTrace || hex.EncodeToString(first.ParentSpanId) != clientSpan || len(second.ParentSpanId) != 0 {
		t.Errorf("parents: %v\n%v", first, second)
	}
	for _, span := range byID {
		if len(span.Links) != 1 || hex.EncodeToString(span.Links[0].SpanId) != headerSpan {
			t.Errorf("links: %v", span.Links)
		}
	}
}

// A client on stdio has spans like any other client, but without an address.
func TestClientOnStdio(t *testing.T) {
	r := otlptest.New(t, nil)
	g := start(t, r.URL, legacyServer().Open, nil)
	front, err := g.actors.Stdio(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	in, client := io.Pipe()
	answers, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- downstream.ServeStdio(t.Context(), in, out, front, downstream.Options{MaxMessageBytes: 1 << 20, Budget: g.actors.Budget()}, slog.New(slog.DiscardHandler))
	}()
	lines := json.NewDecoder(answers)
	for _, message := range []string{initialize, plainCall} {
		if _, err := io.WriteString(client, message+"\n"); err != nil {
			t.Fatal(err)
		}
		for answered := false; !answered; { // notifications may come first
			var line struct{ Method, Result, Error json.RawMessage }
			if err := lines.Decode(&line); err != nil || line.Method == nil && line.Result == nil {
				t.Fatalf("%v: %s", err, line.Error)
			}
			answered = line.Result != nil
		}
	}
	_ = client.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	spans := r.Spans(t, 3)
	got := otlptest.Attributes(spans[len(spans)-1].Attributes)
	check(t, "server", got, map[string]string{"mcp.method.name": "tools/call", "network.transport": "pipe", "network.protocol.name": "", "client.address": "", "mcp.protocol.version": "2025-11-25"})
}
