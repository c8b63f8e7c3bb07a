//go:build linux

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The gateway passes on arguments, results, error data and notifications byte for byte.
func TestMessagesPassUnchanged(t *testing.T) {
	t.Parallel()
	g := serve(t, servers(map[string]any{"good": bad("none")}))
	g.ready(t, "good")
	c := connect(t, g, "")
	const arguments = `{"do":"verbatim","big":9007199254740993,"z":1.0,"a":[1e3,-0.0],"html":"<>&","u":"\u00fc\/","k":{"z":1,"a":2}}`
	a := c.post(t, `{"jsonrpc":"2.0","id":1,"future":[1.0],"method":"tools/call","params":{"name":"good_echo","unknown":{"b":1,"a":1.0},"arguments":`+arguments+`}}`)
	if len(a.frames) != 2 {
		t.Fatalf("got %s, want a notification and the result", a)
	}
	if want := `"data":` + oddities + `,"x":[1.0,1e3]}}`; !strings.HasSuffix(a.frames[0], want) {
		t.Errorf("the notification: %s, want it to end with %s", a.frames[0], want)
	}
	if want := `"result":{"content":[{"type":"hologram","z":1,"a":2},`; !strings.Contains(a.last(), want) || !strings.HasSuffix(a.last(), `"odd":`+oddities+`}}`) {
		t.Errorf("the result was changed: %s", a.last())
	}
	var result struct {
		Result struct{ Content []struct{ Text string } }
	}
	if json.Unmarshal([]byte(a.last()), &result) != nil || len(result.Result.Content) != 2 || result.Result.Content[1].Text != arguments {
		t.Errorf("the server got %+v, want %s", result, arguments)
	}
	if a := c.call(t, "good", "error-data", 0); !strings.HasSuffix(a.last(), `"error":{"code":-12345,"message":"<&>","data":`+oddities+`,"more":1}}`) {
		t.Errorf("the error was changed: %s", a)
	}
}

// Ids of every kind are returned unchanged.
func TestIDs(t *testing.T) {
	t.Parallel()
	g := serve(t, servers(map[string]any{"good": bad("none")}))
	g.ready(t, "good")
	c := connect(t, g, "")
	for _, id := range []string{`1`, `0`, `-7`, `"a"`, `""`, `"1"`, `9007199254740993`, `1e3`, `99999999999999999999999999`, `"\u00fc\/<>&"`, `"` + strings.Repeat("x", 1000) + `"`} {
		for _, method := range []string{`"tools/call","params":{"name":"good_echo","arguments":{}}`, `"tools/list"`, `"ping"`} {
			if a := c.post(t, `{"jsonrpc":"2.0","id":`+id+`,"method":`+method+`}`); !strings.Contains(a.last(), `"id":`+id+`,`) || !strings.Contains(a.last(), `"result"`) {
				t.Errorf("id %.40s of %s: %.200s", id, method, a)
			}
		}
	}
}

// A server request with the id of a pending call is not mistaken for the call's answer.
func TestServerReusesGatewayIDs(t *testing.T) {
	t.Parallel()
	g := serve(t, servers(map[string]any{"good": bad("none")}))
	g.ready(t, "good")
	c := connect(t, g, "")
	for range 20 {
		if a := c.call(t, "good", "same-id", 0); !strings.Contains(a.last(), `"done"`) {
			t.Fatalf("the server request was taken for the answer: %s", a)
		}
	}
}

// The last notification before an answer is neither lost nor reordered.
func TestLastNotification(t *testing.T) {
	t.Parallel()
	g := serve(t, servers(map[string]any{"good": bad("none")}))
	g.ready(t, "good")
	c := connect(t, g, "")
	for n := range 1000 {
		if a := c.call(t, "good", "notify", 1); len(a.frames) != 2 || !strings.Contains(a.frames[0], "notifications/message") || !strings.Contains(a.last(), `"done"`) {
			t.Fatalf("call %d: got %s, want a notification and then the result", n, a)
		}
	}
}

// Progress of four concurrent calls arrives on the right streams, in order, with the right tokens.
func TestConcurrentProgress(t *testing.T) {
	t.Parallel()
	g := serve(t, servers(map[string]any{"good": bad("none")}))
	g.ready(t, "good")
	shared := connect(t, g, "")
	var all sync.WaitGroup
	for i := range 4 {
		c := shared
		if i%2 == 0 {
			c = connect(t, g, "")
		}
		all.Go(func() {
			a := c.post(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"good_echo","arguments":{"do":"progress","n":500},"_meta":{"progressToken":"t-%d"}}}`, i, i))
			last := 0.0
			for _, frame := range a.frames[:len(a.frames)-1] {
				var p struct {
					Params struct {
						ProgressToken string
						Progress      float64
					}
				}
				if json.Unmarshal([]byte(frame), &p) != nil || p.Params.ProgressToken != fmt.Sprintf("t-%d", i) || p.Params.Progress <= last {
					t.Errorf("call %d, after %v: %s", i, last, frame)
				}
				last = p.Params.Progress
			}
			if last != 500 || !strings.Contains(a.last(), `"done"`) {
				t.Errorf("call %d: the last progress was %v, then %s", i, last, a.last())
			}
		})
	}
	all.Wait()
}

// A cancellation only cancels calls of its own client, in both eras, whatever id it names.
func TestCancelOfAnotherClient(t *testing.T) {
	t.Parallel()
	good, release := holding(t)
	g := serve(t, servers(map[string]any{"good": good}))
	g.ready(t, "good")
	victim, other := connect(t, g, ""), connect(t, g, "")
	const modern = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	calls := make(chan answer, 2)
	go func() { calls <- victim.post(t, callFrame(1, "good", "held", 0)) }()
	modernClient := &client{g: g, http: &http.Client{}, headersMore: http.Header{
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"good_echo"}}}
	go func() {
		calls <- modernClient.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"good_echo","arguments":{"do":"held"},"_meta":`+modern+`}}`)
	}()
	g.running(t, "good", 2)
	for id := range 20 {
		other.post(t, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
	}
	cancel := &client{g: g, http: &http.Client{}, headersMore: http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"notifications/cancelled"}}}
	cancel.post(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"_meta":`+modern+`}}`)
	release()
	for range 2 {
		if a := <-calls; !strings.Contains(a.last(), `"done"`) {
			t.Errorf("a call was canceled by another client: %s", a)
		}
	}
	if strings.Contains(strings.Join(g.server(t, "good").Stderr, "\n"), "cancelled") {
		t.Error("the server received a cancellation")
	}
}

// A cancellation of the client's own call reaches the server.
func TestCancelReachesTheServer(t *testing.T) {
	t.Parallel()
	g := serve(t, servers(map[string]any{"good": bad("none")}))
	g.ready(t, "good")
	c := connect(t, g, "")
	go func() { _, _ = c.try(context.Background(), strings.NewReader(callFrame(41, "good", "never", 0)), nil) }()
	g.running(t, "good", 1)
	c.post(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":41}}`)
	g.running(t, "good", 0)
	waitFor(t, "the server to be told", func() (bool, string) {
		said := g.server(t, "good").Stderr
		return slices.ContainsFunc(said, func(line string) bool { return strings.HasPrefix(line, "cancelled ") }), fmt.Sprint(said)
	})
}

// The answer to a server request reaches the server although the stream that carried the request has ended, and the call succeeds.
func TestAnswerAfterTheStreamEnded(t *testing.T) {
	t.Parallel()
	web := faultyWeb(t)
	g := serve(t, servers(map[string]any{"good": map[string]any{"url": web + "/call-ask-and-end", "type": "http"}}))
	g.ready(t, "good")
	c := connect(t, g, elicits)
	id, done := c.asked(t, t.Context())
	select {
	case a := <-done:
		t.Fatalf("the call ended with its stream: %s", a)
	case <-time.After(500 * time.Millisecond): // a slow user
	}
	c.post(t, reply(id, "late"))
	if a := <-done; !strings.Contains(a.last(), `"done"`) {
		t.Errorf("the call did not succeed after the late answer: %s", a)
	}
}

// S1.56: reads time out like calls, and the error is not an AbortError.
func TestReadsTimeOut(t *testing.T) {
	t.Parallel()
	g := serve(t, servers(map[string]any{"good": with(bad("none"), map[string]any{"timeout": "500ms"})}))
	g.ready(t, "good")
	c := connect(t, g, "")
	c.post(t, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"resource://good/x://one"}}`).wants(t, "a read", -31006, "TIMEOUT")
}

// HTTP 503 is counted as unavailable, not as a timeout. Metrics name the server even if its prefix contains an underscore.
func TestFailuresAreCountedByServer(t *testing.T) {
	t.Parallel()
	web := faultyWeb(t)
	g := serve(t, servers(map[string]any{"my-server": map[string]any{"url": web + "/call-503", "type": "http", "prefix": "a_b"}}))
	g.ready(t, "my-server")
	c := connect(t, g, "")
	c.call(t, "a_b", "", 0).wants(t, "503", -31001, "SERVER_UNAVAILABLE")
	_, page := get(g.base + "/metrics")
	if want := `goblin_calls_total{server="my-server",method="tools/call",outcome="unavailable"} 1`; !strings.Contains(page, want) {
		for line := range strings.Lines(page) {
			if strings.HasPrefix(line, "goblin_calls_total") {
				t.Log(line)
			}
		}
		t.Errorf("/metrics lacks %s", want)
	}
}

// The gateway cannot be shut down over HTTP, and web pages of other origins cannot read its responses.
func TestForeignPages(t *testing.T) {
	t.Parallel()
	g := serve(t, servers(map[string]any{"good": bad("none")}))
	g.ready(t, "good")
	for _, path := range []string{"/shutdown", "/actions/restart", "/statusz", "/debug/pprof/", "/mcp"} {
		for _, method := range []string{"GET", "POST", "OPTIONS"} {
			r, err := http.NewRequest(method, g.base+path, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Origin", "http://evil.example")
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Access-Control-Request-Method", "POST")
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode < 400 || resp.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %s of a foreign page: %s, %v", method, path, resp.Status, resp.Header)
			}
		}
	}
	connect(t, g, "").works(t, "good")
}

// A child process gets the configured variables and a few harmless ones, not the gateway's environment.
func TestEnvironmentOfChildren(t *testing.T) {
	t.Setenv("SECRET_OF_THE_GATEWAY", "hunter2")
	g := serve(t, servers(map[string]any{"good": with(bad("none"), map[string]any{"env": map[string]string{"OWN": "1.10"}})}))
	g.ready(t, "good")
	said := connect(t, g, "").call(t, "good", "environment", 0).last()
	if strings.Contains(said, "hunter2") || !strings.Contains(said, "OWN=1.10") || !strings.Contains(said, "PATH=") {
		t.Errorf("the child's environment: %s", said)
	}
}

// A stopped child process that reads nothing does not block other servers, however much the gateway sends it.
func TestDeafChild(t *testing.T) {
	t.Parallel()
	g := serve(t, servers(map[string]any{
		"odd":  with(bad("none"), map[string]any{"timeout": "10s"}),
		"good": bad("none")}))
	g.ready(t, "odd", "good")
	c, healthy := connect(t, g, ""), connect(t, g, "")
	c.call(t, "odd", "stopped", 0)
	g.stopped(t, "odd")
	ballast := strings.Repeat("x", 100_000)
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			a := c.post(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"odd_echo","arguments":{"x":"%s"}}}`, i, ballast))
			a.wants(t, "a call that is never read", -31006, "TIMEOUT")
		})
	}
	g.running(t, "odd", 60)
	for range 20 {
		began := time.Now()
		healthy.works(t, "good")
		if took := time.Since(began); took > 9*time.Second { // it would take 10 s if it waited for the calls of odd
			t.Errorf("a healthy call took %s", took)
		}
	}
	all.Wait()
}
