package desk

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/edge"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// Answers that may be asked for again are kept for a while, within bounds.
func TestOutcomesAreBounded(t *testing.T) {
	d := newDeskScript(t, 1)
	keep := func(seq uint64, size int) { d.s.keep(d.now, outcome{seq: seq, frame: make([]byte, size)}, nil) }
	check := func(what string, bytes int, first uint64) {
		t.Helper()
		sum := 0
		for _, o := range d.s.outcomes {
			sum += len(o.frame)
		}
		if sum != bytes || d.s.outcomeBytes != bytes || len(d.s.outcomes) > 0 && d.s.outcomes[0].seq != first {
			t.Errorf("%s: %d bytes, counted as %d, want %d; the oldest of %+v, want call %d", what, sum, d.s.outcomeBytes, bytes, d.s.outcomes, first)
		}
	}
	keep(1, maxKept+1)
	check("too large", 0, 0)
	keep(2, maxKept/2)
	keep(3, maxKept/2)
	check("full", maxKept, 2)
	keep(4, 1)
	check("one more", maxKept/2+1, 3)
	d.now = d.now.Add(keepOutcome)
	d.step(tidy{})
	check("a minute later", 0, 0)
	for seq := range uint64(maxOutcomes + 2) {
		keep(10+seq, 1)
	}
	check("many small ones", maxOutcomes, 12)
}

// One clock runs for them, however often they push each other out.
func TestOutcomesHaveOneClock(t *testing.T) {
	d := newDeskScript(t, 1)
	clocks := 0
	for seq := range uint64(5) {
		clocks += len(d.s.keep(d.now, outcome{seq: seq, frame: make([]byte, maxKept)}, nil))
	}
	if clocks != 1 {
		t.Errorf("%d clocks run", clocks)
	}
	if next := d.s.tidy(d.now.Add(keepOutcome), nil); len(next) != 0 || len(d.s.outcomes) != 0 {
		t.Errorf("%d outcomes are left, %d clocks", len(d.s.outcomes), len(next))
	}
	if again := d.s.keep(d.now, outcome{}, nil); len(again) != 1 {
		t.Errorf("%d clocks run for the next, want one", len(again))
	}
}

// A retry's headers must repeat its arguments like those of any request (MCP 2026-07-28, streamable-http, server validation).
func TestARetrysHeadersAreChecked(t *testing.T) {
	d := newDeskScript(t, 1)
	source := catalog.Source{Server: &catalog.Server{Name: "one", Rules: config.DefaultServer()}}
	source.Items[protocol.Tools] = [][]byte{[]byte(`{"name":"ask","inputSchema":{"type":"object","properties":{"a":{"type":"integer","x-mcp-header":"A"}}}}`)}
	naming := catalog.Naming{Namespace: config.Default().Namespace, URIStyle: "prefix", PageSize: 10}
	d.step(message.Published{Snapshot: catalog.Build(nil, []catalog.Source{source}, naming)})
	visit := func(id int, header, state string) message.Visit {
		v := d.asking(id, `{"elicitation":{}}`, ``, state, `{}`)
		x := v.Exchange
		x.Frame, x.Params = actortest.Request(t, strings.Replace(string(x.Frame.Raw), `"name":"one_ask"`, `"name":"one_ask","arguments":{"a":1}`, 1))
		x.Origin.Header = http.Header{"Mcp-Param-A": {header}}
		return v
	}
	d.step(visit(1, "1", ""))
	d.step(message.Ask{Seq: d.first(), Key: 1, Frame: d.frame(oneForm)})
	for _, timer := range d.timers {
		d.step(timer)
	}
	for header, want := range map[string]string{"2": string(protocol.HeaderMismatch), "": string(protocol.HeaderMismatch), "1": "result", "1.0": "result"} {
		if got := lastWords(step(d.s, d.now, visit(2, header, d.states[0]), nil)); got != want {
			t.Errorf("header %q: %s, want %s", header, got, want)
		}
		d.now = d.now.Add(time.Millisecond)
	}
}

// lastWords are the last words to a client: "acknowledged", "result", a fault's name, "nothing".
func lastWords(out []kernel.Effect) (words string) {
	words = "nothing"
	for _, e := range out {
		switch a := e.Act.(type) {
		case edge.Ahead:
			words = "acknowledged"
		case edge.Answer:
			words = "result"
		case edge.Refuse:
			words = string(a.Fault.Name)
		}
	}
	return words
}
