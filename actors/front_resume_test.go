package actors

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream/pipe"
)

// slowServer returns a server whose tool sends a log message or progress for each word on the channel say, and completes
// when the channel is closed.
func slowServer(t *testing.T) (s *actortest.Server, say chan string) {
	t.Helper()
	say = make(chan string)
	s = &actortest.Server{Tools: []string{"slow"}, Logging: true}
	s.Handle = func(p *pipe.Peer, f protocol.Frame, id []byte) {
		go func() {
			n := 0
			for word := range say {
				if n++; word == "progress" {
					var params protocol.Params
					_ = params.Scan(&f)
					_ = p.Send([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` +
						string(params.ProgressToken.Of(f.Raw)) + `,"progress":` + strconv.Itoa(n) + `}}`))
					continue
				}
				_ = p.Send([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` + word + `"}}`))
			}
			_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[]}`)))
		}()
	}
	return s, say
}

const slowCall = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one_slow","_meta":{"progressToken":"t"}}}`

// MCP 2025-03-26 to 2025-11-25, resumability; protocol.md L6, L7: the version determines whether a stream begins with an
// event that has an ID but no data, and whether a call survives the loss of its connection.
func TestResumeByVersion(t *testing.T) {
	for version, want := range map[string]struct{ primed, resumes bool }{
		"2025-11-25": {true, true}, "2025-06-18": {false, true}, "2025-03-26": {false, true}, "2024-11-05": {false, false},
	} {
		t.Run(version, func(t *testing.T) {
			server, say := slowServer(t)
			w := startHTTP(t, map[string]*actortest.Server{"one": server}, nil)
			opened := w.do("POST", "/mcp", strings.Replace(initializeFrame, "2025-11-25", version, 1))
			session := []string{"Mcp-Session-Id", opened.session}
			go func() { say <- "progress" }()
			s, resp := w.post("/mcp", slowCall, session...)
			if resp.Header.Get("Content-Type") != "text/event-stream" {
				t.Fatal(resp.Header)
			}
			first := s.next()
			if primed := first.id != "" && first.data == ""; primed != want.primed {
				t.Errorf("the stream begins with %+v, want primed %v", first, want.primed)
			}
			for first.data == "" {
				first = s.next()
			}
			if !strings.Contains(first.data, `"progressToken":"t"`) || (first.id != "") != want.resumes {
				t.Fatalf("got %+v", first)
			}
			s.close()
			say <- "alone"
			close(say)
			again, resp := w.listen("/mcp", append(session, "Last-Event-ID", first.id)...)
			if !want.resumes {
				return // the stream starts without replay
			}
			if resp.StatusCode != 200 {
				t.Fatal(resp.StatusCode)
			}
			if got := again.data(); !strings.Contains(got, "alone") {
				t.Errorf("got %s", got)
			}
			if got := again.data(); got != `{"jsonrpc":"2.0","id":7,"result":{"content":[]}}` {
				t.Errorf("got %s", got)
			}
			if got := again.next(); got.ok {
				t.Errorf("after the response: %+v", got)
			}
		})
	}
}

// With the Last-Event-ID of another session the stream opens but replays nothing. For a call whose stream is complete the
// answer is 400.
func TestResumeForeign(t *testing.T) {
	server, say := slowServer(t)
	w := startHTTP(t, map[string]*actortest.Server{"one": server}, nil)
	mine, other := w.open("/mcp"), w.open("/mcp")
	go func() { say <- "secret"; close(say) }()
	s, _ := w.post("/mcp", slowCall, "Mcp-Session-Id", mine)
	prime, last := s.next(), event{}
	for e := prime; e.ok; e = s.next() {
		last = e
	}
	stolen, resp := w.listen("/mcp", "Mcp-Session-Id", other, "Last-Event-ID", prime.id)
	if resp.StatusCode != 200 {
		t.Fatal(resp.StatusCode)
	}
	w.do("POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", other)
	server.SetTools(true, "slow", "more")
	for got := ""; !strings.Contains(got, "list_changed"); got = stolen.data() {
		if strings.Contains(got, "secret") || strings.Contains(got, "result") {
			t.Fatalf("replayed %s of another session", got)
		}
	}
	got := w.do("GET", "/mcp", "", "Accept", "text/event-stream", "Mcp-Session-Id", mine, "Last-Event-ID", last.id)
	if got.status != 400 || !strings.Contains(got.body, "Last-Event-ID") {
		t.Errorf("a completed stream: %d %s", got.status, got.body)
	}
	got = w.do("GET", "/mcp", "", "Accept", "text/event-stream", "Mcp-Session-Id", mine, "Last-Event-ID", prime.id)
	if got.status != 200 || !strings.Contains(got.body, "secret") || !strings.Contains(got.body, `"id":7,"result"`) {
		t.Errorf("a full replay: %d %s", got.status, got.body)
	}
}

// A resumed GET stream reports the changes during the client's absence, by replay or by a new notification.
func TestResumeListening(t *testing.T) {
	server := &actortest.Server{Tools: []string{"a"}}
	w := startHTTP(t, map[string]*actortest.Server{"one": server}, nil)
	session := []string{"Mcp-Session-Id", w.open("/mcp")}
	w.do("POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, session...)
	s, _ := w.listen("/mcp", session...)
	last := s.next()
	for i := range 4 {
		server.SetTools(true, "a", "b"+strconv.Itoa(i))
		time.Sleep(300 * time.Millisecond) // the registry publishes at most every 250 ms
		if i%2 == 0 {
			s.close()
			continue
		}
		resp := (*events)(nil)
		resp, _ = w.listen("/mcp", append(session, "Last-Event-ID", last.id)...)
		s = resp
		e := s.next()
		for e.ok && !strings.Contains(e.data, "list_changed") {
			e = s.next()
		}
		if !e.ok {
			t.Fatal("list_changed was lost")
		}
		last = e
	}
}

// MCP 2025-03-26, basic, batching: batches are answered in sessions of this version and refused in all others.
func TestBatches(t *testing.T) {
	server, say := slowServer(t)
	w := startHTTP(t, map[string]*actortest.Server{"one": server}, nil)
	session := func(version string) []string {
		return []string{"Mcp-Session-Id", w.do("POST", "/mcp", strings.Replace(initializeFrame, "2025-11-25", version, 1)).session}
	}
	old := session("2025-03-26")
	ping := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }
	pong := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` }
	const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	tests := []struct {
		name, body string
		session    []string
		status     int
		want       string // the whole body if it begins with [, else a part of it
	}{
		{"requests", `[` + ping("1") + `,` + initialized + `, ` + ping(`"b"`) + `]`, old, 200, `[` + pong("1") + `,` + pong(`"b"`) + `]`},
		{"one request", `[` + ping("1") + `]`, old, 200, `[` + pong("1") + `]`},
		{"nothing to answer", `[` + initialized + `,{"jsonrpc":"2.0","id":99,"result":{}}]`, old, 202, ""},
		{"wrong params", `[{"jsonrpc":"2.0","id":1,"method":"ping","params":7},` + ping("2") + `]`, old, 400, "-32600"},
		{"unknown method", `[{"jsonrpc":"2.0","id":1,"method":"tasks/list"}]`, old, 200, "-32601"},
		{"initialize", `[` + ping("1") + `,` + initializeFrame + `]`, old, 400, "-32600"},
		{"empty", `[]`, old, 400, "-32600"},
		{"not closed", `[` + ping("1"), old, 400, "-32700"},
		{"invalid element", `[` + ping("1") + `,7]`, old, 400, "-32600"},
		{"nested", `[[` + ping("1") + `]]`, old, 400, "-32600"},
		{"too many", `[` + strings.Repeat(ping("1")+",", protocol.MaxBatch) + ping("1") + `]`, old, 400, "-32600"},
		{"2025-06-18", `[` + ping("1") + `]`, session("2025-06-18"), 400, "-32600"},
		{"2025-11-25", `[` + ping("1") + `]`, session("2025-11-25"), 400, "-32600"},
		{"2024-11-05", `[` + ping("1") + `]`, session("2024-11-05"), 400, "-32600"},
		{"no session", `[` + initializeFrame + `]`, nil, 400, "-32600"},
		{"same id twice", `[{"jsonrpc":"2.0","id":5,"method":"tools/list"},{"jsonrpc":"2.0","id":5,"method":"tools/list"}]`, old, 200, `"id":5`},
	}
	for _, test := range tests {
		got := w.do("POST", "/mcp", test.body, test.session...)
		exact := strings.HasPrefix(test.want, "[") || test.want == ""
		if got.status != test.status || exact && got.body != test.want || !strings.Contains(got.body, test.want) {
			t.Errorf("%s: got %d %s, want %d %s", test.name, got.status, got.body, test.status, test.want)
		}
	}
	go func() { say <- "progress"; say <- "hello"; close(say) }()
	s, _ := w.post("/mcp", `[`+ping("1")+`,`+slowCall+`]`, old...)
	var all []string
	for data := s.data(); data != ""; data = s.data() {
		all = append(all, data)
	}
	text := strings.Join(all, "\n")
	if len(all) != 4 || all[3] != `{"jsonrpc":"2.0","id":7,"result":{"content":[]}}` || !strings.Contains(text, pong("1")) || !strings.Contains(text, `"progressToken":"t"`) {
		t.Errorf("events:\n%s", text)
	}
}
