package limits

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"goblin-actor/bench/load"
	"goblin-actor/bench/report"
)

// Every response of the raw servers is right, the processor time of all processes is measured, and the report is
// complete.
func TestLimitsOfRawServers(t *testing.T) {
	var notes bytes.Buffer
	result, err := Run(t.Context(), Options{Transports: []string{"http"}, Eras: []string{"legacy"}, Max: 4, Step: 60 * time.Millisecond,
		Program: gateway(t), Commit: "abc", Command: "test"}, &notes)
	if err != nil {
		t.Fatal(err)
	}
	s := result.Limits.Series[0]
	if len(s.Steps) < 3 || s.Knee == nil || s.Bottleneck == "" || s.Why == "" || len(s.Direct) == 0 {
		t.Fatalf("%+v", s)
	}
	for _, step := range s.Steps {
		if step.Calls == 0 || step.Failures() > 0 || step.P99 < step.P50 || step.CPU.Cores == 0 {
			t.Errorf("%+v", step)
		}
	}
	if !strings.Contains(notes.String(), "calls http-legacy-64_echo") {
		t.Errorf("notes: %s", &notes)
	}
	var out bytes.Buffer
	if err := result.WriteTable(&out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, want := range []string{"Knee: ", "Bottleneck: ", "0 responses were lost, 0 crossed", "Called directly"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
	dir := t.TempDir()
	if err := result.Save(dir); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(dir + "/report.md")
	if err != nil || !strings.Contains(string(page), "- Bottleneck: ") || !strings.Contains(string(page), "throughput.svg") {
		t.Errorf("report.md: %v\n%s", err, page)
	}
	text, err := os.ReadFile(dir + "/report.json")
	var back report.Report
	if err != nil || json.Unmarshal(text, &back) != nil || len(back.Limits.Series[0].Steps) != len(s.Steps) {
		t.Errorf("report.json: %v\n%s", err, text)
	}
}

// foreign is a third-party MCP server. It responds with event streams that start with a notification. It has read-only
// and other tools. The test determines its responses to calls.
type foreign struct {
	tools   string
	answer  func(w http.ResponseWriter, id string)
	written atomic.Int64 // calls of tools other than the safe one
	headers atomic.Int64 // requests without the key
}

const readingTools = `{"name":"erase","inputSchema":{"type":"object"}},` +
	`{"name":"search","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"openWorldHint":true}},` +
	`{"name":"look","inputSchema":{"type":"object","properties":{"path":{"type":"object"}},"required":["path"]},"annotations":{"readOnlyHint":true}},` +
	`{"name":"count","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`

func (f *foreign) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name string }
	}
	_ = json.NewDecoder(r.Body).Decode(&m)
	if r.Method == "POST" && r.Header.Get("X-Key") != "k" {
		f.headers.Add(1)
	}
	result := ""
	switch m.Method {
	case "initialize":
		w.Header().Set("Mcp-Session-Id", "s")
		result = `{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"f","version":"1"}}`
	case "tools/list":
		result = `{"tools":[` + f.tools + `]}`
	case "tools/call":
		if m.Params.Name != "count" {
			f.written.Add(1)
		}
		f.answer(w, string(m.ID))
		return
	default:
		w.WriteHeader(http.StatusAccepted)
		return
	}
	inEvents(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+result+`}`)
}

func inEvents(w http.ResponseWriter, message string) {
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, ": hello\r\n\r\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\nid: 1\ndata: %s\n\n", message)
}

func rightly(w http.ResponseWriter, id string) {
	inEvents(w, `{"jsonrpc":"2.0","id":`+id+`,"result":{"content":[]}}`)
}

func climbForeign(t *testing.T, f *foreign, o Options) (*report.Report, error) {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	o.Target, _ = url.Parse(server.URL + "/mcp")
	o.Eras, o.Headers, o.Program = []string{"legacy"}, []string{"X-Key: k"}, gateway(t)
	if o.Step == 0 {
		o.Step = 30 * time.Millisecond
	}
	if o.Max == 0 {
		o.Max = 2
	}
	return Run(t.Context(), o, &bytes.Buffer{})
}

// At an endpoint, only the tool that is read-only, not open-world and needs no arguments is called. The key is sent
// with every request.
func TestLimitsOfATarget(t *testing.T) {
	f := &foreign{tools: readingTools, answer: rightly}
	result, err := climbForeign(t, f, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := result.Limits.Series[0]
	if s.Tool != "count" || s.Knee == nil || s.Steps[0].Failures() > 0 || f.written.Load() > 0 || f.headers.Load() > 0 {
		t.Errorf("%+v; %d other calls, %d requests without the key", s, f.written.Load(), f.headers.Load())
	}
}

func TestLimitsCallSafeToolsOnly(t *testing.T) {
	f := &foreign{tools: strings.Replace(readingTools, "count", "other\",\"title\":\"x", 1), answer: rightly}
	f.tools = f.tools[:strings.LastIndex(f.tools, "},{")+1]
	_, err := climbForeign(t, f, Options{})
	if !errors.Is(err, ErrNothing) || !strings.Contains(err.Error(), "--tool erase") || f.written.Load() > 0 {
		t.Errorf("%v; %d calls", err, f.written.Load())
	}
	if _, err := climbForeign(t, f, Options{Tool: "erase"}); err != nil || f.written.Load() == 0 {
		t.Errorf("named tool: %v; %d calls", err, f.written.Load())
	}
	if _, err := climbForeign(t, f, Options{Tool: "eras"}); err == nil {
		t.Error("a missing tool: no error")
	}
}

// Calls without a result are counted by outcome.
func TestLimitsCountFailures(t *testing.T) {
	for want, answer := range map[string]func(w http.ResponseWriter, id string){
		"crossed": func(w http.ResponseWriter, id string) {
			n, _ := strconv.Atoi(id)
			rightly(w, strconv.Itoa(n-1))
		},
		"lost":     func(w http.ResponseWriter, _ string) { w.WriteHeader(200) },
		"HTTP 503": func(w http.ResponseWriter, _ string) { w.WriteHeader(503) },
		"isError": func(w http.ResponseWriter, id string) {
			inEvents(w, `{"jsonrpc":"2.0","id":`+id+`,"result":{"content":[],"isError":true}}`)
		},
		"QUEUE_FULL": func(w http.ResponseWriter, id string) {
			inEvents(w, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-31004,"message":"x","data":{"code":"QUEUE_FULL"}}}`)
		},
		"OVERLOADED (limits.maxInFlightPerClient)": func(w http.ResponseWriter, id string) {
			inEvents(w, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-31010,"message":"too many calls (limits.maxInFlightPerClient)","data":{"code":"OVERLOADED"}}}`)
		},
		"error -7": func(w http.ResponseWriter, id string) {
			inEvents(w, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-7,"message":"x"}}`)
		},
	} {
		calls := 0
		f := &foreign{tools: readingTools, answer: func(w http.ResponseWriter, id string) {
			if calls++; calls == 1 { // the probe
				rightly(w, id)
				return
			}
			answer(w, id)
		}}
		result, err := climbForeign(t, f, Options{Max: 1})
		if err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		s := result.Limits.Series[0]
		got := map[string]int{"crossed": s.Steps[0].Crossed, "lost": s.Steps[0].Lost}
		for name, n := range s.Steps[0].Refused {
			got[name] = n
		}
		if got[want] == 0 || s.Steps[0].Calls > 0 || s.Knee != nil {
			t.Errorf("%s: %+v", want, s)
		}
	}
}

// In an open loop, a pause of the server delays all calls that become due during the pause. In a closed loop, it would
// delay only one call.
func TestLimitsOpenLoop(t *testing.T) {
	calls := 0
	f := &foreign{tools: readingTools, answer: func(w http.ResponseWriter, id string) {
		if calls++; calls == 30 {
			time.Sleep(200 * time.Millisecond)
		}
		rightly(w, id)
	}}
	result, err := climbForeign(t, f, Options{Raise: "rate", Rates: []float64{100}, Max: 1, Step: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	s := result.Limits.Series[0]
	if got := s.Steps[0]; got.Calls+got.Refused[load.NotSent] != 50 || got.P99 < 150_000 || got.Offered != 100 || s.Raise != "rate" {
		t.Errorf("%+v", s)
	}
	late := 0
	for _, tenths := range f.late(t, 100, 500*time.Millisecond) {
		if tenths > 500_000 { // 50 ms
			late++
		}
	}
	if late < 10 {
		t.Errorf("%d of 50 calls were late, want at least 10: those due during the pause", late)
	}
}

// late makes one client call at a constant rate while the server pauses once for 200 ms, and returns the latencies.
func (f *foreign) late(t *testing.T, rate float64, d time.Duration) []uint32 {
	t.Helper()
	calls := 0
	f.answer = func(w http.ResponseWriter, id string) {
		if calls++; calls == 10 {
			time.Sleep(200 * time.Millisecond)
		}
		rightly(w, id)
	}
	server := httptest.NewServer(f)
	defer server.Close()
	at, _ := url.Parse(server.URL)
	crowd := &load.Crowd{At: load.NewEndpoint(at, nil), Tool: "count", Rate: rate}
	defer crowd.Leave()
	if err := crowd.Grow(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	r, err := crowd.Run(t.Context(), 1, d)
	if err != nil {
		t.Fatal(err)
	}
	return r.Latencies
}

// While subscribers or items are raised with a real gateway, calls succeed and every subscriber receives every
// notification once.
func TestLimitsRaise(t *testing.T) {
	for _, what := range []string{"subscribers", "items"} {
		result, err := Run(t.Context(), Options{Raise: what, Eras: []string{"legacy"}, Max: 100, Step: 50 * time.Millisecond, Program: gateway(t)}, &bytes.Buffer{})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		s := result.Limits.Series[0]
		if len(s.Steps) != 2 || s.Steps[1].Raised != 100 || s.Steps[1].Calls == 0 || s.Steps[1].Failures()+s.Steps[1].Doubled > 0 || s.Steps[1].RSS == 0 || s.Ended == "" {
			t.Errorf("%s: %+v", what, s)
		}
		var out bytes.Buffer
		if err := result.WriteTable(&out); err != nil || !strings.Contains(out.String(), "with increasing "+what) {
			t.Errorf("%v\n%s", err, &out)
		}
		checkColumns(t, result)
	}
}

// An interrupted run ends immediately, even if the server does not respond.
func TestLimitsEndImmediately(t *testing.T) {
	hung := make(chan struct{})
	defer close(hung)
	calls := 0
	f := &foreign{tools: readingTools}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.answer = func(w http.ResponseWriter, id string) {
		if calls++; calls == 1 {
			rightly(w, id)
			return
		}
		cancel()
		<-hung
	}
	server := httptest.NewServer(f)
	t.Cleanup(server.CloseClientConnections)
	target, _ := url.Parse(server.URL)
	began := time.Now()
	_, err := Run(ctx, Options{Target: target, Eras: []string{"legacy"}, Program: gateway(t)}, &bytes.Buffer{})
	if !errors.Is(err, context.Canceled) || time.Since(began) > 5*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}

func TestLimitsWriteNoControlCharacters(t *testing.T) {
	var out bytes.Buffer
	(&report.Limits{Series: []report.LimitSeries{{Tool: "a\x1b[31mb\u009b", Raise: "clients", Why: "\x07"}}, Notes: []string{"c\x1bd"}}).Write(&out)
	if strings.ContainsAny(out.String(), "\x1b\x07\u009b") {
		t.Errorf("%q", out.String())
	}
}

func TestOptionsReportEveryError(t *testing.T) {
	for _, o := range []Options{{Raise: "servers", Target: &url.URL{}}, {Raise: "rate"}, {Rates: []float64{1}}, {Raise: "rate", Rates: []float64{2, 1}}, {Raise: "prices"}} {
		if o.Validate() == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	err := Options{Eras: []string{"old"}, Transports: []string{"sse"}, Concurrent: []int{-1}, Max: -1, P99: -1, Args: "{}", Headers: []string{"secret"}}.Validate()
	for _, want := range []string{"era", "transport", "max-concurrent", "max:", "p99", "args", "header"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "secret") {
		t.Errorf("%v contains a header", err)
	}
}

func TestSafeTools(t *testing.T) {
	for text, want := range map[string]string{
		`{"name":"a"}`: "",
		`{"name":"a","annotations":{"readOnlyHint":false}}`:                                 "",
		`{"name":"a","annotations":{"readOnlyHint":true}}`:                                  "{}",
		`{"name":"a","annotations":{"readOnlyHint":true,"openWorldHint":true}}`:             "",
		`{"name":"a","annotations":{"readOnlyHint":true},"inputSchema":{"required":["x"]}}`: "",
		`{"name":"a","annotations":{"readOnlyHint":true},"inputSchema":{"required":["n","s","e"],"properties":{"n":{"type":"integer","minimum":3},` +
			`"s":{"type":"string"},"e":{"enum":["p","q"]},"o":{"type":"object"}}}}`: `{"e":"p","n":3,"s":"a"}`,
	} {
		var one tool
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			t.Fatal(err)
		}
		if args, ok := one.safe(); args != want || ok != (want != "") {
			t.Errorf("%s: %s, %v; want %s", text, args, ok, want)
		}
	}
}

func TestListenerIsFound(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	at, _ := url.Parse(server.URL)
	if pid := listener(at.Port()); pid != os.Getpid() && pid != 0 {
		t.Errorf("listener = %d, want %d, or 0 for unknown", pid, os.Getpid())
	}
}
