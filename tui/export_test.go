package tui

import (
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/status"
)

// copier makes the console copy into a variable, and returns its address.
func copier(s *testConsole) *string {
	copied := new(string)
	s.app.clipboard = func(text string) error { *copied = text; return nil }
	return copied
}

// Tools, prompts, resources and calls are copied as a command line and as requests. Arguments that are not kept are written as …
func TestExportOfRows(t *testing.T) {
	s, _ := formConsole(t, readFile, true)
	copied := copier(s)
	s.press("<esc>c")
	s.has("l command line  p JSON-RPC  u curl  t txtar")
	for _, c := range []struct{ keys, want string }{
		{"l", "goblin-actor call files_read_file path=…"},
		{"cp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"files_read_file","arguments":{"path":"…"}}}`},
		{"cu", "curl -s http://127.0.0.1:8730/mcp -H"},
		{"ct", "-- command --\ngoblin-actor call files_read_file path=…\n-- request.json --\n{"},
	} {
		s.press(c.keys)
		if !strings.HasPrefix(*copied, c.want) {
			t.Errorf("%s copied %q, want %q", c.keys, *copied, c.want)
		}
	}
	p := *samplePicture()
	snapshot := *p.Snapshot
	p.Snapshot, snapshot.TLS = &snapshot, true
	s.app.take(&p)
	if s.press(":tools<enter>cu"); !strings.HasPrefix(*copied, "curl -s https://127.0.0.1:8730/mcp -H") {
		t.Errorf("copied %q with TLS", *copied)
	}
	p.Finished = []status.FinishedCall{{Number: 1, Method: "resources/read", Public: "file:///a b", Server: "files", Outcome: "ok"},
		{Number: 2, Method: "ping", Began: noon, Server: "files", Outcome: "ok"}, {Number: 3, Method: "tools/call", Public: "gone", Server: "files", Outcome: "ok", Began: noon.Add(-time.Second)}}
	p.Calls, p.ended = nil, nil
	for _, f := range p.Finished {
		p.ended = append(p.ended, finishedRow(f))
	}
	s.app.take(&p)
	s.press(":calls<enter><home>cl")
	if *copied != "goblin-actor call gone …=…" {
		t.Errorf("copied %q", *copied)
	}
	s.press("<down>cl")
	s.has("only tools, prompts, resources and their calls")
	s.press("<down>cl")
	if *copied != "goblin-actor read 'file:///a b'" {
		t.Errorf("copied %q", *copied)
	}
}

// On the page of a call whose payloads are kept, the copied texts have its arguments and its answer, without secrets. Payloads
// that are cut or withheld are not copied.
func TestExportOfAKeptCall(t *testing.T) {
	p := keptPicture()
	call := &p.Payloads[0].Payloads[0]
	call.Request.Text = `{"name": "github_search_code", "arguments": {"query": "it's a: [b]", "token": "[redacted]"}}`
	call.Answer = status.Payload{Bytes: 40, Text: `{"content": [{"type": "text", "text": "[redacted]"}]}`}
	const (
		line    = `goblin-actor call github_search_code 'query=it'\''s a: [b]' 'token=[redacted]'`
		request = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"github_search_code","arguments":{"query":"it's a: [b]","token":"[redacted]"}}}`
		answer  = `{"content":[{"type":"text","text":"[redacted]"}]}`
		unkept  = "goblin-actor call github_search_code …=…"
	)
	s := newTestConsole(t, 120, 40, Options{})
	copied := copier(s)
	show := func(p *Picture) { s.app.take(p) }
	show(p)
	s.press("6/github_search<enter><enter>")
	show(p)
	copies := func(key, want string) {
		t.Helper()
		s.press("c")
		s.has("l command line")
		if s.press(key); *copied != want {
			t.Errorf("%s copied %q, want %q", key, *copied, want)
		}
	}
	copies("l", line)
	copies("p", request)
	copies("t", "-- command --\n"+line+"\n-- request.json --\n"+request+"\n-- answer.json --\n"+answer+"\n")
	s.press("<tab>") // to the payloads
	copies("l", line)
	for _, change := range []func(c *status.CallPayload){
		func(c *status.CallPayload) { c.Request.Cut, c.Answer.Cut = true, true },
		func(c *status.CallPayload) { c.Request.Text, c.Answer.Text = "", "" },
		func(c *status.CallPayload) { c.Call = "desk/0/5" },
	} {
		other := keptPicture()
		c := &other.Payloads[0].Payloads[0]
		*c = *call
		change(c)
		show(other)
		copies("l", unkept)
		copies("t", "-- command --\n"+unkept+"\n-- request.json --\n"+strings.Replace(request, `{"query":"it's a: [b]","token":"[redacted]"}`, `{"…":"…"}`, 1)+"\n")
	}
}

// r on a finished call opens its form, filled in with the arguments that are kept. Hidden secrets are not filled in.
func TestCallAgain(t *testing.T) {
	picture := func() *Picture { // the call of which payloads are kept has ended
		p := keptPicture()
		p.Payloads[0].Payloads[0].Request.Text = `{"name": "github_search_code", "arguments": {"query": "it's a: [b]", "token": "[redacted]"}}`
		i := slices.IndexFunc(p.Calls, func(c status.Call) bool { return c.ID == "desk/0/4" })
		c := p.Calls[i]
		p.Calls = slices.Delete(slices.Clone(p.Calls), i, i+1)
		p.past = p.with([]status.FinishedCall{{Number: 999, ID: c.ID, Session: c.Session, Server: c.Server, Method: c.Method, Item: c.Item, Public: c.Public, Began: c.Began, Outcome: "ok", Seconds: 3}}, nil)
		items := *p.Items
		items.Tools = slices.Clone(items.Tools)
		tool := &items.Tools[slices.IndexFunc(items.Tools, func(i status.Item) bool { return i.Public == c.Public })]
		tool.Raw = `{"name":"search_code","inputSchema":{"type":"object","properties":{"query":{"type":"string"},"token":{"type":"string"}}}}`
		p.Items = &items
		return p
	}
	p := picture()
	s := newTestConsole(t, 120, 40, Options{})
	s.app.take(p)
	s.press("6/github_search<enter><enter>")
	s.app.take(p)
	s.has("r again")
	s.press("r")
	s.has("─ call github_search_code ─")
	s.has("it's a: [b]")
	s.has("not filled in: token")
	s.hasNot("[redacted]")
	s.press("<esc>")
	other := picture()
	other.Payloads = nil
	s.app.take(other)
	s.press("r")
	s.has("─ call github_search_code ─")
	s.hasNot("it's a: [b]")
	s.press("<esc><esc><esc>")
	s.press("6/read_file<enter><end>r")
	s.has("─ call files_read_file ─")
}

// A form is copied with its arguments and its answer.
func TestExportOfAForm(t *testing.T) {
	s, u := formConsole(t, readFile, true)
	copied := copier(s)
	s.press("/n<ctrl-r>")
	<-u.used
	s.happen()
	s.press("<ctrl-y>")
	s.has("copy  c name  l command line")
	s.press("l")
	if *copied != "goblin-actor call files_read_file path=/n" {
		t.Errorf("copied %q", *copied)
	}
	s.press("<ctrl-y>t")
	if !strings.Contains(*copied, `"arguments":{"path":"/n"}`) || !strings.HasSuffix(*copied, "-- answer.json --\n"+`{"content":[{"type":"text","text":"buy milk\u001b"}]}`+"\n") {
		t.Errorf("copied %q", *copied)
	}
	s.press("<ctrl-y>a")
	if *copied != `buy milk\x1b` {
		t.Errorf("copied %q", *copied)
	}
	s.press("<backspace><backspace><ctrl-y>u")
	s.has("not copied: path: required")
}

// Copied values are complete even if the screen cuts them.
func TestCopyOfALongValue(t *testing.T) {
	s := newTestConsole(t, 120, 40, Options{})
	copied := copier(s)
	p := *samplePicture()
	long := "file:///" + strings.Repeat("a  b/", 500)
	p.Items = &status.Items{Version: 7, Resources: []status.Item{{Server: "files", Public: long + "\n\x1b"}}}
	s.app.take(&p)
	s.press("4cc")
	if *copied != long+` \x1b` {
		t.Errorf("copied %d bytes, want %d: %.40q", len(*copied), len(long)+5, *copied)
	}
}
