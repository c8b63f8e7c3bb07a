//go:build linux

package faults

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"goblin-actor/internal/gatetest"
)

// soon returns server with a startTimeout of 2 s.
func soon(server map[string]any) map[string]any {
	return with(server, map[string]any{"startTimeout": "2s"})
}

// Some servers never become ready. The status shows the reason, the log names each server and the reason, and /readyz lists them. The healthy
// server works meanwhile.
func TestServersThatCannotStart(t *testing.T) {
	t.Parallel()
	web := faultyWeb(t)
	cases := map[string]struct {
		server map[string]any
		reason []string
	}{
		"missing":        {map[string]any{"command": "no-such-program-here"}, []string{`"no-such-program-here"`, "not found on PATH"}},
		"noexec":         {map[string]any{"command": "/etc/passwd"}, []string{"/etc/passwd", "is not executable", "permission denied"}},
		"nodir":          {with(bad("none"), map[string]any{"cwd": "/no/such/dir"}), []string{"working directory", "/no/such/dir"}},
		"exit":           {bad("exit"), []string{"exited with code 3", "GREETER_TOKEN is not set"}},
		"exit-handshake": {bad("exit-handshake"), []string{"exited with code 4", "cannot open the database"}},
		"refuses":        {bad("refuses"), []string{"refused initialize", "licence expired"}},
		"no-object":      {bad("no-object"), []string{"initialize"}},
		"empty-result":   {bad("empty-result"), []string{"protocol version", "2025-11-25"}},
		"future":         {bad("future"), []string{"2099-01-01", "2025-11-25"}},
		"mute":           {soon(bad("mute")), []string{"startTimeout", "not answered"}},
		"wrong-id":       {soon(bad("wrong-id")), []string{"startTimeout", "not answered"}},
		"broken-answer":  {bad("broken-answer"), []string{"initialize", "malformed JSON"}},
		"closed":         {map[string]any{"url": "http://127.0.0.1:1/mcp"}, []string{"127.0.0.1:1", "connection refused"}},
		"oops":           {map[string]any{"url": web + "/500"}, []string{"HTTP 500 (Internal Server Error)", "oops"}},
		"busy":           {map[string]any{"url": web + "/503"}, []string{"HTTP 503 (Service Unavailable)", "busy"}},
		"login":          {map[string]any{"url": web + "/401"}, []string{"not logged in"}},
		"page":           {map[string]any{"url": web + "/html"}, []string{"not a JSON-RPC message"}},
		"silent":         {soon(map[string]any{"url": web + "/hang"}), []string{"startTimeout"}},
		"nothing":        {map[string]any{"url": web + "/empty"}, []string{"without an answer"}},
		"elsewhere":      {map[string]any{"url": web + "/redirect"}, []string{"HTTP 302 (Found)", "moved to "}},
	}
	all := map[string]any{"good": bad("none")}
	for name, c := range cases {
		all[name] = c.server
	}
	g := serve(t, servers(all))
	waitFor(t, "good to be ready", func() (bool, string) { b := g.server(t, "good"); return b.State == "ready", b.State })
	client := connect(t, g, "")
	for name, c := range cases {
		waitFor(t, name+" to have failed with its reason", func() (bool, string) {
			b := g.server(t, name)
			return containsAll(b.Reason, c.reason), b.State + ": " + b.Reason
		})
		g.logged(t, "level=WARN", "server="+name, strings.ReplaceAll(c.reason[0], `"`, `\"`))
		waitFor(t, "/readyz to name "+name, func() (bool, string) {
			code, page := get(g.base + "/readyz")
			return code == 200 && strings.Contains(page, `"`+name+`"`), page
		})
	}
	client.works(t, "good")
}

// Servers that misbehave in ways that leave them usable become ready. Their tools can be called, and the log names the problems with their lists.
func TestServersThatMisbehave(t *testing.T) {
	t.Parallel()
	faults := []string{"garbage", "asks-idle", "changes", "noise", "asks-in-list", "endless-list", "growing-list", "bad-items", "family", "stubborn"}
	all := map[string]any{"good": bad("none"), "bad-list": bad("bad-list"), "list-error": bad("list-error")}
	for _, fault := range faults {
		all[fault] = bad(fault)
	}
	g := serve(t, servers(all))
	g.ready(t, append(faults, "good", "bad-list", "list-error")...)
	c := connect(t, g, "")
	for _, fault := range faults {
		if fault == "growing-list" {
			continue // it has no tool of that name
		}
		c.works(t, fault)
	}
	c.works(t, "good")
	if tools := c.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).last(); !strings.Contains(tools, `"good_echo"`) || !strings.Contains(tools, `"bad-items_a_b_c__"`) {
		t.Errorf("tools/list: %.2000s", tools)
	}
	g.logged(t, "WARN", "server=garbage", "must log to stderr")
	g.logged(t, "WARN", "server=endless-list", "does not end")
	g.logged(t, "WARN", "server=growing-list", "does not end")
	g.logged(t, "WARN", "server=bad-items", "left out")
	g.logged(t, "WARN", "server=bad-list", "could not be fetched")
	g.logged(t, "WARN", "server=list-error", "index is broken")
	if b := g.server(t, "list-error"); !containsAll(b.Reason, []string{"its tools could not be listed", "index is broken"}) {
		t.Errorf("list-error: reason %q", b.Reason)
	}
	g.fits(t, 150<<20)
}

// An invalid or too large answer fails its call immediately with an error that names the server. Unusual messages that the gateway can
// ignore or deliver do not fail a call. The connection stays open in every case.
func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	s := servers(map[string]any{"odd": with(bad("none"), map[string]any{"timeout": (2 * gatetest.Patience).String()}), "good": bad("none")})
	s["limits"] = map[string]any{"maxMessageBytes": "1MiB"}
	g := serve(t, s)
	g.ready(t, "odd", "good")
	c := connect(t, g, `{"elicitation":{}}`)
	for _, x := range []struct {
		do   string
		n    int
		code int // 0 = the call succeeds
		name string
	}{
		{"wrong-id", 0, 0, ""}, // the third wrong answer has the right id as text
		{"both", 0, -32603, "INTERNAL_ERROR"},
		{"neither", 0, -32603, "INTERNAL_ERROR"},
		{"not-utf8", 0, -32603, "INTERNAL_ERROR"},
		{"duplicate-key", 0, -32603, "INTERNAL_ERROR"},
		{"error-string", 0, -32603, "INTERNAL_ERROR"},
		{"deep", 400, 0, ""},
		{"deep", 600, -32603, "INTERNAL_ERROR"},
		{"deep", 1_000_000, -32600, "MESSAGE_TOO_LARGE"},
		{"big", 1 << 19, 0, ""},
		{"big", 2 << 20, -32600, "MESSAGE_TOO_LARGE"},
		{"big", 70 << 20, -32600, "MESSAGE_TOO_LARGE"},
		{"result-string", 0, 0, ""},
		{"batch", 0, 0, ""},
		{"twice", 0, 0, ""},
		{"notify", 10_000, 0, ""},
		{"ping", 10_000, 0, ""},
		{"stderr", 10_000, 0, ""},
		{"ask-many", 1000, 0, ""},
		{"same-question", 0, 0, ""},
	} {
		// A call that timed out would take longer than the client waits.
		if a := c.call(t, "odd", x.do, x.n); x.code != 0 {
			a.wants(t, x.do, x.code, x.name)
			if !strings.Contains(a.last(), `"server":"odd"`) {
				t.Errorf("%s: the error does not name the server: %s", x.do, a)
			}
		} else if !strings.Contains(a.last(), `"result"`) {
			t.Errorf("%s: got %s, want a result", x.do, a)
		}
		c.works(t, "good")
	}
	if b := g.server(t, "odd"); b.Incarnation != 1 || b.State != "ready" || b.InFlight != 0 {
		t.Errorf("after all invalid answers the server is %+v", b)
	}
	g.logged(t, "WARN", "server=odd", "invalid response", "limits.maxMessageBytes")
	g.logged(t, "WARN", "server=odd", "invalid response", "not JSON-RPC 2.0")
}

// Invalid answers over HTTP fail their calls, too. HTTP allows more kinds of them than stdio.
func TestBrokenAnswersOverHTTP(t *testing.T) {
	t.Parallel()
	web := faultyWeb(t)
	all := map[string]any{"good": bad("none")}
	faults := map[string]struct {
		code int // 0 = the call succeeds
		name string
	}{
		"none": {0, ""}, "get-404": {0, ""}, "get-400": {0, ""}, "get-flood": {0, ""},
		"call-broken": {-31003, "BACKEND_DISCONNECTED"}, "call-html": {-31003, "BACKEND_DISCONNECTED"}, "call-500": {-31003, "BACKEND_DISCONNECTED"},
		"call-404": {-31003, "BACKEND_DISCONNECTED"}, "call-404rpc": {-32601, ""}, "call-wrongid": {-32603, "INTERNAL_ERROR"},
		"call-big": {-32600, "MESSAGE_TOO_LARGE"}, "call-ssebig": {-32600, "MESSAGE_TOO_LARGE"}, "call-ssebroken": {-32603, "INTERNAL_ERROR"},
		"call-sseend": {-31003, "BACKEND_DISCONNECTED"}, "call-cut": {-31003, "BACKEND_DISCONNECTED"}, "call-202": {-31003, "BACKEND_DISCONNECTED"},
		"call-close": {-31003, "BACKEND_DISCONNECTED"}, "call-reset": {-31003, "BACKEND_DISCONNECTED"}, "call-hang": {-31006, "TIMEOUT"},
		"call-comments": {-31006, "TIMEOUT"}, "call-blanks": {-32600, "MESSAGE_TOO_LARGE"},
	}
	for fault, want := range faults {
		timeout := gatetest.Patience.String()
		if want.name == "TIMEOUT" {
			timeout = "2s"
		}
		all[fault] = map[string]any{"url": web + "/" + fault, "type": "http", "timeout": timeout}
	}
	s := servers(all)
	s["limits"] = map[string]any{"maxMessageBytes": "1MiB"}
	g := serve(t, s)
	c := connect(t, g, "")
	for fault := range faults {
		g.ready(t, fault)
	}
	for fault, want := range faults {
		a := c.call(t, fault, "", 0)
		if want.code == 0 {
			if !strings.Contains(a.last(), `"done"`) {
				t.Errorf("%s: got %s, want the text done", fault, a)
			}
		} else {
			a.wants(t, fault, want.code, want.name)
		}
		if want.name == "BACKEND_DISCONNECTED" { // the error names server, problem and fix
			for _, part := range []string{"server " + fault, "check the server's log"} {
				if !strings.Contains(a.last(), part) {
					t.Errorf("%s: %s, want %q in it", fault, a, part)
				}
			}
			if strings.Contains(a.last(), "EOF") || strings.Contains(a.last(), "->") {
				t.Errorf("%s: the error has words of Go's network packages: %s", fault, a)
			}
		}
		c.works(t, "good")
	}
	waitFor(t, "the goroutines of the calls to end", func() (bool, string) {
		n := g.goroutines()
		return n < 200, fmt.Sprint(n, " goroutines")
	})
}

// A process that exits or closes its stdout during a call fails only its own calls and is replaced by a new one. A process that stops (SIGSTOP)
// fails only its own calls, too: they time out.
func TestServersThatGoAway(t *testing.T) {
	t.Parallel()
	g := serve(t, servers(map[string]any{"odd": bad("none"), "slow": with(bad("none"), map[string]any{"timeout": "1s"}), "good": bad("none")}))
	g.ready(t, "odd", "slow", "good")
	c := connect(t, g, "")
	for _, do := range []string{"exit", "close-stdout"} {
		before := g.server(t, "odd").Incarnation
		a := c.call(t, "odd", do, 0)
		a.wants(t, do, -31003, "BACKEND_DISCONNECTED")
		if strings.Contains(a.last(), "hunter2") { // the last output of a process is only for the operator
			t.Errorf("%s: the client received %s", do, a)
		}
		c.works(t, "good")
		waitFor(t, "odd to be back", func() (bool, string) {
			b := g.server(t, "odd")
			return b.State == "ready" && b.Incarnation > before, b.State
		})
		c.works(t, "odd")
	}
	g.logged(t, "WARN", "server is not available", "server=odd", "hunter2")
	c.call(t, "slow", "never", 0).wants(t, "never", -31006, "TIMEOUT")
	c.call(t, "slow", "stopped", 0) // it answers and then stops
	for range 100 {                 // it stops after its answer; calls until then are answered, too
		if a := c.call(t, "slow", "", 0); !strings.Contains(a.last(), `"result"`) {
			a.wants(t, "stopped", -31006, "TIMEOUT")
			break
		}
	}
	if last := c.call(t, "slow", "", 0); strings.Contains(last.last(), `"result"`) {
		t.Errorf("a stopped server answers: %s", last)
	}
	a, err := c.try(context.Background(), strings.NewReader(callFrame(1, "good", "big", 1<<20)), nil)
	if err != nil || len(a.last()) < 1<<20 {
		t.Errorf("call of 1 MiB of the other server: %s %v", a, err)
	}
}
