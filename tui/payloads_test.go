package tui

import (
	"context"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/status"
)

// keptPicture returns the sample with the payloads of the running call of github_search_code.
func keptPicture() *Picture {
	p := *samplePicture()
	snapshot := *p.Snapshot
	k := status.Keeping{Server: "github", Began: noon.Add(-3 * time.Minute), Until: noon.Add(7 * time.Minute), Calls: 12, Most: 50}
	snapshot.Keeping = []status.Keeping{k}
	p.Snapshot = &snapshot
	p.Payloads = []status.KeptPayloads{{Keeping: k, Payloads: []status.CallPayload{{
		Call: "desk/0/4", Method: "tools/call", Item: "search_code", Began: noon.Add(-3 * time.Second), Ended: noon,
		Request: status.Payload{Bytes: 138, Shape: "{name: string 11 B, arguments: {query: string 9 B}}",
			Text: `{"name": "search_code", "arguments": {"query": "a: [b, {c\"}]", "token": "[redacted]", "none": [], "of": {}}}`},
		Answer: status.Payload{Bytes: 40_000, Cut: true, Shape: "{content: [{type: string 4 B}…]…}…", Text: "{\"content\": [{\"type\": \"text\", \"text\": \"\\u001b[31mred\\u001b[0m [red]\u202e \u200b世界…"},
	}}}}
	return &p
}

// The page of a call shows its payloads. While payloads are kept, every screen says so.
func TestPayloadScreens(t *testing.T) {
	for _, c := range []struct{ name, keys string }{
		{"payload-call", "6/github_search<enter><enter>"},
		{"payload-text", "6/github_search<enter><enter><tab><down>d"},
		{"payload-overview", ""},
		{"payload-actions", "1/github<enter>x"},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}} {
			goldenScreen(t, c.name, c.keys, size, Options{}, keptPicture())
			goldenScreen(t, "mono-"+c.name, c.keys, size, Options{Palette: "mono"}, keptPicture())
		}
	}
	for _, k := range kinds {
		for _, size := range [][2]int{{10, 1}, {20, 5}, {40, 10}, {60, 15}, {80, 24}, {120, 40}, {300, 100}} {
			s := newTestConsole(t, size[0], size[1], Options{})
			s.app.take(keptPicture())
			s.press(":" + k.Name + "<enter>")
			if got := s.draw(); !strings.Contains(got[0], "● REC") {
				t.Errorf("%s at %v does not show that payloads are kept: %q", k.Name, size, got[0])
			}
		}
	}
}

// An action of a server keeps its payloads or, if they are kept, discards them. The console asks first. A read-only console does
// neither.
func TestPayloadKeys(t *testing.T) {
	for _, c := range []struct {
		p        *Picture
		question string
		want     status.Action
		command  string
	}{
		{samplePicture(), "keep payloads of github (50 calls, 16 KiB each, 10m, in memory, without secrets)? y/n", status.Action{Verb: status.Payloads, Server: "github"}, `POST /actions/payloads {"server": "github"}`},
		{keptPicture(), "discard the payloads of 12 calls of github now? y/n", status.Action{Verb: status.Payloads, Server: "github", Stop: true}, `POST /actions/payloads {"server": "github", "stop": true}`},
	} {
		s := newTestConsole(t, 120, 40, Options{})
		source := s.app.source.(*fixed)
		source.acted = make(chan status.Action, 1)
		s.app.take(c.p)
		s.press("1/github<enter>x<down>")
		s.has("= " + c.command)
		s.press("<enter>")
		s.has(c.question)
		s.press("y")
		select {
		case got := <-source.acted:
			if got != c.p.Aimed(c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		case <-time.After(10 * time.Second):
			s.has("an action")
		}
	}
	s := newTestConsole(t, 120, 40, Options{ReadOnly: true})
	s.press("1/github<enter>x")
	s.has(`= POST /actions/payloads {"server": "github…  this console is read-only`)
}

// countingPayloads is a Source that counts queries of payloads.
type countingPayloads struct {
	fixed
	queries []string
}

func (a *countingPayloads) Payloads(_ context.Context, q status.PayloadQuery) ([]status.KeptPayloads, error) {
	a.queries = append(a.queries, q.Call)
	return keptPicture().Payloads, nil
}

// Payloads are fetched only for the page of a call whose server's payloads are kept, and once if the call has ended. They
// are forgotten when the gateway discards them.
func TestPayloadsAreFetchedOnce(t *testing.T) {
	source := &countingPayloads{}
	p := keptPicture()
	var has []status.KeptPayloads
	for _, c := range []struct{ server, id string }{{"github", "desk/0/4"}, {"github", "desk/0/4"}, {"files", "desk/0/5"}, {"github", ""}, {"github", "desk/0/4"}} {
		has, _ = payloads(t.Context(), source, p, scope{server: c.server}, c.id, has)
		if (has != nil) != (c.server == "github" && c.id != "") {
			t.Errorf("%v: %+v", c, has)
		}
	}
	if got := strings.Join(source.queries, " "); got != "desk/0/4 desk/0/4" {
		t.Errorf("queries: %s", got)
	}
	if has, _ = payloads(t.Context(), source, samplePicture(), scope{server: "github"}, "desk/0/4", has); has != nil {
		t.Errorf("after the end: %+v", has)
	}
	if rows := payloadsKind.RowsOf(&Picture{Snapshot: samplePicture().Snapshot, access: access{Payloads: p.Payloads}}, scope{server: "github"}); rows != nil {
		t.Errorf("after the end: %+v", rows)
	}
}

// A paused screen shows that payloads are kept now, and none that are no longer kept.
func TestPayloadsWhilePaused(t *testing.T) {
	s := newTestConsole(t, 120, 40, Options{})
	s.press(" ")
	s.app.take(keptPicture())
	s.has("● REC")
	s.press(" ")
	s.app.take(keptPicture())
	s.press("6/github_search<enter><enter>")
	s.app.take(keptPicture())
	s.has("search_code")
	s.has(`"query": "a: [b, {c`)
	s.press(" ")
	s.app.take(keptPicture())
	s.has(`"query": "a: [b, {c`)
	p := keptPicture()
	p.Keeping[0].Began = noon
	s.app.take(p)
	s.has("● REC")
	s.hasNot(`"query": "a: [b, {c`)
	s.app.take(samplePicture())
	s.hasNot("● REC")
}

// A long text ends with the number of lines that are left out.
func TestPayloadLinesAreLimited(t *testing.T) {
	rows := sideRows(nil, "a", "answer", status.Payload{Bytes: 1, Text: "[" + strings.Repeat("1, ", maxPayloadLines+7) + "1]"}, "")
	if last := rows[len(rows)-1]; len(rows) != maxPayloadLines+2 || last.Cells[1].Text != "… 10 more lines; d shows all" {
		t.Errorf("%d rows, the last is %+v", len(rows), last.Cells)
	}
}

func TestJSONLines(t *testing.T) {
	got := strings.Join(jsonLines(`{"a": {"b": [1, "x,{}]\""], "c": {}}, "d": []}`), "\n")
	want := `{
  "a": {
    "b": [
      1,
      "x,{}]\""
    ],
    "c": {}
  },
  "d": []
}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for s := range strings.SplitSeq(`{"a": ["b…|]}}]|"|\|[[[[|{"a": "\`, "|") {
		jsonLines(s)
	}
}
