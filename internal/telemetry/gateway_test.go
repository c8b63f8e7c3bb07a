package telemetry_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/secret"
	"goblin-actor/internal/telemetry"
	"goblin-actor/internal/telemetry/otlptest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

// gateway is a gateway on loopback with the server "one", and its telemetry.
type gateway struct {
	t         *testing.T
	at        string
	actors    *actors.Gateway
	telemetry *telemetry.Telemetry
	log       *slog.Logger
}

// start starts a gateway that exports to endpoint; "" = telemetry is off.
func start(t *testing.T, endpoint string, open func(upstream.Sink) upstream.Link, known *secret.Redactor, change ...func(*config.Config)) *gateway {
	t.Helper()
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
	t.Setenv("OTEL_BLRP_SCHEDULE_DELAY", "20")
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "50")
	cfg := config.Default()
	cfg.Telemetry.Endpoint = endpoint
	server := config.DefaultServer()
	server.Name, server.Written, server.Command = "one", "one", "fake"
	cfg.Servers = []config.Server{server}
	for _, f := range change {
		f(&cfg)
	}
	g := &gateway{t: t, log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	o := actors.Options{Version: "test", Log: g.log, Open: func(config.Server, int) (func(upstream.Sink) upstream.Link, string) { return open, "stdio" }}
	if g.telemetry = telemetry.Start(telemetry.Options{Config: cfg.Telemetry, Version: "1.2.3", Log: g.log, Secrets: known}); g.telemetry != nil {
		o.Telemetry = g.telemetry
		o.Log = slog.New(g.telemetry.Logs(g.log.Handler()))
		g.log = o.Log
	}
	a, err := actors.Start(&cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	g.actors = a
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := downstream.NewServer(a.Front(), downstream.Options{MaxMessageBytes: 1 << 20, Budget: a.Budget(), TraceHeaders: a.Traced()}, o.Log)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() {
		_ = a.Stop(context.Background(), 0)
		_ = s.Shutdown(context.Background())
		g.telemetry.Shutdown()
	})
	g.at = "http://" + l.Addr().String() + "/mcp"
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(time.Millisecond) {
		if status, err := a.Status(t.Context()); err == nil && status.Ready {
			return g
		}
	}
	t.Fatal("the gateway did not become ready")
	return nil
}

// post sends a message and returns the body and the session ID of the response.
func (g *gateway) post(body string, headers ...string) (answer, session string) {
	g.t.Helper()
	q, err := http.NewRequestWithContext(g.t.Context(), http.MethodPost, g.at, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		g.t.Fatal(err)
	}
	defer a.Body.Close()
	raw, err := io.ReadAll(a.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return string(raw), a.Header.Get("Mcp-Session-Id")
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

// begin opens a legacy session and returns the headers of its later messages.
func (g *gateway) begin() []string {
	g.t.Helper()
	answer, session := g.post(initialize)
	if session == "" {
		g.t.Fatal(answer)
	}
	return []string{"Mcp-Session-Id", session, "Mcp-Protocol-Version", "2025-11-25"}
}

const (
	clientTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	clientSpan  = "00f067aa0ba902b7"
	headerTrace = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	headerSpan  = "bbbbbbbbbbbbbbbb"
)

func legacyServer() *actortest.Server {
	return &actortest.Server{Tools: []string{"echo"}, Handle: func(p *pipe.Peer, f protocol.Frame, id []byte) {
		if strings.Contains(string(f.Raw), "boom") {
			_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[{"type":"text","text":"hunter2hunter2"}],"isError":true}`)))
			return
		}
		_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[{"type":"text","text":"result text"}]}`)))
	}}
}

// A call has a SERVER span, whose parent is the client's span, and a CLIENT span below it. Both have the names of the
// semantic conventions. The server gets the CLIENT span as its parent.
func TestSpansOfACall(t *testing.T) {
	r, fake := otlptest.New(t, nil), legacyServer()
	g := start(t, r.URL, fake.Open, nil)
	session := g.begin()
	call := `{"jsonrpc":"2.0","id":"seven","method":"tools/call","params":{"name":"one_echo","arguments":{"a":"secret argument"},"_meta":{"x":1, "traceparent":"00-` +
		clientTrace + `-` + clientSpan + `-01","tracestate":"rojo=1"}}}`
	if answer, _ := g.post(call, append(session, "Traceparent", "00-"+headerTrace+"-"+headerSpan+"-01")...); !strings.Contains(answer, "result text") {
		t.Fatal(answer)
	}
	spans := r.Spans(t, 3) // with that of initialize
	client, server := spans[len(spans)-2], spans[len(spans)-1]
	if client.Name != "tools/call echo" || client.Kind.String() != "SPAN_KIND_CLIENT" || server.Name != "tools/call one_echo" || server.Kind.String() != "SPAN_KIND_SERVER" {
		t.Fatalf("%v\n%v", client, server)
	}
	if hex.EncodeToString(server.TraceId) != clientTrace || hex.EncodeToString(server.ParentSpanId) != clientSpan || server.TraceState != "rojo=1" {
		t.Errorf("the server span is not below the client's: %v", server)
	}
	if len(server.Links) != 1 || hex.EncodeToString(server.Links[0].SpanId) != headerSpan || hex.EncodeToString(server.Links[0].TraceId) != headerTrace {
		t.Errorf("links: %v", server.Links)
	}
	if string(client.ParentSpanId) != string(server.SpanId) || string(client.TraceId) != string(server.TraceId) {
		t.Errorf("the client span is not below the server span: %v", client)
	}
	if client.StartTimeUnixNano < server.StartTimeUnixNano || client.EndTimeUnixNano > server.EndTimeUnixNano || client.StartTimeUnixNano >= client.EndTimeUnixNano {
		t.Errorf("times: %v %v", client, server)
	}
	check(t, "server", otlptest.Attributes(server.Attributes), map[string]string{
		"mcp.method.name": "tools/call", "gen_ai.tool.name": "one_echo", "gen_ai.operation.name": "execute_tool", "jsonrpc.request.id": "seven",
		"mcp.protocol.version": "2025-11-25", "mcp.session.id": session[1][:8], "network.transport": "tcp", "client.address": "127.0.0.1", "network.protocol.name": "http",
	})
	check(t, "client", otlptest.Attributes(client.Attributes), map[string]string{
		"mcp.method.name": "tools/call", "gen_ai.tool.name": "echo", "gen_ai.operation.name": "execute_tool", "network.transport": "pipe", "goblin.server.name": "one",
		"mcp.protocol.version": "2025-11-25",
	})
	if text := fmt.Sprint(spans); strings.Contains(text, "secret argument") || strings.Contains(text, "result text") || strings.Contains(text, session[1]) {
		t.Errorf("a span has arguments, a result or a session id: %s", text)
	}
	if r.Resource("service.name") != "goblin-actor" || r.Resource("service.version") != "1.2.3" {
		t.Error("the resource does not name the gateway")
	}
	got := fake.Received("tools/call")[0]
	want := fmt.Sprintf(`"traceparent":"00-%s-%s-01"`, clientTrace, hex.EncodeToString(client.SpanId))
	if raw := string(got.Raw); !strings.Contains(raw, want) || !strings.Contains(raw, `"tracestate":"rojo=1"`) || strings.Count(raw, "traceparent") != 1 || !strings.Contains(raw, `"x":1`) {
		t.Errorf("the server got %s, want %s", raw, want)
	}
}

func check(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s span: %s = %q, want %q", what, key, got[key], value)
		}
	}
}

// In every combination of eras, the trace context reaches the server in params._meta, and a modern server also as a
// header. Nothing else in the request changes: apart from the two members of _meta, the server gets the same bytes as
// from a gateway that does not trace.
func TestContextReachesTheServer(t *testing.T) {
	const meta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`
	for _, cell := range []struct{ name, rest, own string }{
		{"no meta", `"arguments":{"a":[1, 2]}`, ""},
		{"empty meta", `"_meta":{ },"arguments":{}`, ""},
		{"token", `"x":{},"_meta":{"progressToken":"p"}`, ""},
		{"replaced", `"_meta":{"traceparent":"00-` + clientTrace + `-` + clientSpan + `-01","k":"v","tracestate":"a=b"}`, clientTrace},
		{"twice", `"_meta":{"traceparent":"00-` + clientTrace + `-` + clientSpan + `-01","k":"v","\u0074raceparent":"z"}`, ""},
		{"malformed", `"_meta":{"traceparent":"00-` + strings.ToUpper(clientTrace) + `-` + clientSpan + `-01","tracestate":"a=b"}`, ""},
	} {
		for _, modernClient := range []bool{false, true} {
			for _, modernServer := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, modern client %t, modern server %t", cell.name, modernClient, modernServer), func(t *testing.T) {
					call, headers := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one_echo",`+cell.rest+`}}`, []string(nil)
					if modernClient {
						headers = []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "one_echo"}
						if rest, has := strings.CutPrefix(cell.rest[strings.Index(cell.rest, `"_meta"`)+1:], `_meta":{`); has {
							comma := ","
							if strings.HasPrefix(strings.TrimSpace(rest), "}") {
								comma = ""
							}
							call = strings.Replace(call, `"_meta":{`, `"_meta":{`+meta+comma, 1)
						} else {
							call = strings.Replace(call, `"params":{`, `"params":{"_meta":{`+meta+`},`, 1)
						}
					}
					traced, out := received(t, otlptest.New(t, nil).URL, modernServer, call, headers)
					plain, _ := received(t, "", modernServer, call, headers)
					parent := rawjson.Member(traced.Raw, rawjson.Member(traced.Raw, traced.Params, "_meta"), "traceparent").Of(traced.Raw)
					if len(parent) != 57 || cell.own != "" && string(parent[4:36]) != cell.own || strings.Contains(string(parent), clientSpan) {
						t.Fatalf("traceparent %s in %s", parent, traced.Raw)
					}
					if got, want := untraced(traced), untraced(plain); got != want {
						t.Errorf("with traces the server gets\n%s\nwithout\n%s", got, want)
					}
					if modernServer && (len(out) == 0 || out[0].Name != "Traceparent" || `"`+out[0].Value+`"` != string(parent)) {
						t.Errorf("headers %v, want %s", out, parent)
					}
				})
			}
		}
	}
}

// received returns the call that the server gets, and the headers for it.
func received(t *testing.T, endpoint string, modern bool, call string, headers []string) (protocol.Frame, []protocol.HeaderField) {
	t.Helper()
	var got []protocol.Frame
	var fields []protocol.HeaderField
	legacyServer := legacyServer()
	modernServer := &actortest.Modern{Tools: []string{"echo"}, Handle: func(g actortest.Message) {
		fields = g.Out.Headers
		g.Result(`{"resultType":"complete","content":[]}`)
	}}
	open := legacyServer.Open
	if modern {
		open = modernServer.Open
	}
	g := start(t, endpoint, open, nil)
	if headers == nil {
		headers = g.begin()
	}
	if answer, _ := g.post(call, headers...); !strings.Contains(answer, `"result"`) {
		t.Fatal(answer)
	}
	if modern {
		for _, m := range modernServer.Received("tools/call") {
			got = append(got, m.Frame)
		}
	} else {
		got = legacyServer.Received("tools/call")
	}
	return got[0], fields
}

// untraced returns a frame with the id 0 and without the trace context in _meta.
func untraced(f protocol.Frame) string {
	meta := rawjson.Member(f.Raw, f.Params, "_meta")
	edits := rawjson.EditObject([]rawjson.Edit{{Span: f.ID, With: []byte("0")}}, f.Raw, meta, []string{"traceparent", "tracestate"})
	return string(rawjson.AppendEdited(nil, f.Raw, edits...))
}
