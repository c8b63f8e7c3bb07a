package status

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"goblin-actor/protocol"
)

// The items of a kind add up to the calls of its method, whether or not they are counted separately; so do the tools in /metrics.
func TestItemsAddUpToTheCounters(t *testing.T) {
	m, rng := NewMetrics(), rand.New(rand.NewPCG(3, 4))
	methods := map[string]protocol.Method{"tool": protocol.MethodToolsCall, "prompt": protocol.MethodPromptsGet, "resource": protocol.MethodResourcesRead}
	for i := range 3000 {
		s := m.Server([]string{"a", "b"}[rng.IntN(2)])
		for kind, method := range methods {
			e := Ended{Method: method, Outcome: Outcome(rng.IntN(outcomes)), Began: time.Unix(int64(i), 0), Took: time.Millisecond}
			if k, _ := KindOfItem(kind); rng.IntN(4) > 0 {
				name := fmt.Sprint("item", rng.IntN(100))
				e.Counters = s.Item(k, name, "a_"+name)
			}
			s.Ended(e)
		}
		s.Ended(Ended{Method: protocol.MethodCompletionComplete, Counters: s.Item(protocol.Prompts, "item1", "a_item1")})
	}
	var want, got, failed, wantFailed [protocol.ItemKinds]uint64
	for _, s := range m.allServers() {
		for kind, method := range methods {
			k, _ := KindOfItem(kind)
			for outcome := range s.of(method).outcomes {
				n := s.of(method).outcomes[outcome].Load()
				want[k] += n
				if Outcome(outcome) != OutcomeOK {
					wantFailed[k] += n
				}
			}
		}
	}
	for _, u := range m.Usage() {
		k, _ := KindOfItem(u.Kind)
		got[k] += u.Calls
		failed[k] += u.Failed
		if u.Failed > u.Calls || u.Refused > u.Failed || u.Last.IsZero() || u.Seconds <= 0 || (u.Public == "") != (u.Original == RestOfItems) {
			t.Errorf("impossible: %+v", u)
		}
	}
	if got != want || failed != wantFailed {
		t.Errorf("items: %d calls, %d failed; want %d, %d", got, failed, want, wantFailed)
	}
	var inPage, labels uint64
	for line := range strings.Lines(written(t, m)) {
		var n uint64
		if rest, ok := strings.CutPrefix(line, "goblin_tool_calls_total{"); ok {
			labels++
			if _, err := fmt.Sscan(rest[strings.LastIndex(rest, " "):], &n); err != nil {
				t.Fatal(err)
			}
			inPage += n
		}
	}
	if inPage != want[protocol.Tools] || labels > 2*3*(maxServerToolLabels+1) {
		t.Errorf("/metrics has %d calls of tools in %d series, want %d", inPage, labels, want[protocol.Tools])
	}
}

// A hostile server uses up neither memory nor labels, and its names cannot break the page.
func TestItemsAreBounded(t *testing.T) {
	m := NewMetrics()
	s := m.Server("a")
	call := func(server *ServerMetrics, name string) {
		server.Ended(Ended{Method: protocol.MethodToolsCall, Counters: server.Item(protocol.Tools, name, "a_"+name), Took: time.Second})
	}
	call(s, "x\n\"} 1")
	call(s, "zero\u200bwidth") // %q writes an escape that parsers of the page do not know
	call(s, RestOfItems)
	call(s, strings.Repeat("long", 1000))
	for i := range maxCountedItems + 10 {
		call(s, fmt.Sprint("tool", i))
	}
	if len(s.items) != maxCountedItems {
		t.Errorf("%d items are counted separately, want %d", len(s.items), maxCountedItems)
	}
	for i := range 40 {
		for j := range maxServerToolLabels {
			call(m.Server(fmt.Sprint("s", i)), fmt.Sprint("tool", j))
		}
	}
	page := written(t, m)
	if n := strings.Count(page, "\ngoblin_tool_seconds_total{"); n > maxToolLabels+41 || n < maxToolLabels {
		t.Errorf("%d series, want about %d", n, maxToolLabels)
	}
	if n := strings.Count(page, `goblin_tool_seconds_total{server="a"`); n != maxServerToolLabels+1 || strings.Contains(page, "x\\n") || strings.Contains(page, "width") {
		t.Errorf("%d series of the hostile server", n)
	}
}

// Counting an item takes no memory.
func TestItemsTakeNoMemory(t *testing.T) {
	s := NewMetrics().Server("a")
	e := Ended{Method: protocol.MethodToolsCall, Outcome: OutcomeError, Counters: s.Item(protocol.Tools, "read", "a_read"), Began: time.Unix(1, 0)}
	if n := testing.AllocsPerRun(100, func() { s.countItem(&e) }); n > 0 {
		t.Errorf("%g allocations", n)
	}
}

func BenchmarkItem(b *testing.B) {
	s := NewMetrics().Server("files")
	e := Ended{Method: protocol.MethodToolsCall, Counters: s.Item(protocol.Tools, "read", "files_read"), Began: time.Unix(1, 0)}
	for b.Loop() {
		s.countItem(&e)
	}
}
