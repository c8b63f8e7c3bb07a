package registry

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// recorded returns the changes recorded after the change with that number.
func (h *fixture) recorded(after uint64) string {
	synctest.Wait()
	var texts []string
	list, _ := h.changes.After(after)
	for _, c := range list {
		texts = append(texts, fmt.Sprintf("%s %s %s", c.Server, c.Topic, c.Text(10)))
	}
	return strings.Join(texts, "; ")
}

// logged returns the log lines about changes.
func (h *fixture) logged() (lines []string) {
	for line := range strings.Lines(h.log.String()) {
		if _, change, ok := strings.Cut(line, "msg=catalog actor=registry "); ok && !strings.Contains(change, "warning=") {
			lines = append(lines, strings.TrimSpace(change))
		}
	}
	return lines
}

// S2.4.1: watchers receive the difference between each two snapshots. The log has a summary at most every five
// seconds.
func TestChangesAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		h.rules("s", 0)
		h.tools("s", "a", "b")
		if got, want := h.recorded(0), "s tool-changed +2 tools (s_a, s_b)"; got != want {
			t.Errorf("the first list: %q, want %q", got, want)
		}
		time.Sleep(2 * time.Second)
		changed := append(items("b"), []byte(`{"name":"c","uri":"f:///c","description":"new"}`))
		h.registry.Tell(message.ServerCatalog{Server: "s", Kind: protocol.Tools, Items: changed})
		if got, want := h.recorded(1), "s tool-changed +1 tool (s_c), -1 tool (s_a)"; got != want {
			t.Errorf("the second list: %q, want %q", got, want)
		}
		for i := range 100 { // a server that keeps changing its list
			time.Sleep(pause)
			h.tools("s", "b", fmt.Sprint("x", i))
		}
		time.Sleep(time.Minute)
		list, _ := h.changes.After(0)
		if len(list) != 102 {
			t.Errorf("%d changes, want 102", len(list))
		}
		actortest.Stop(t, h.system)
		lines := h.logged()
		if len(lines) < 5 || len(lines) > 8 {
			t.Errorf("27 s of changes yield %d lines:\n%s", len(lines), strings.Join(lines, "\n"))
		}
		if want := `server=s change="+2 tools (s_a, s_b)"`; lines[0] != want {
			t.Errorf("the first log line is %q, want %q", lines[0], want)
		}
		if last := lines[len(lines)-1]; !strings.Contains(last, "+1 tool (s_x99)") {
			t.Errorf("the last log line is %q, want the last list", last)
		}
	})
}

// Whether a list comes from the cache is part of each item's _meta, but is not recorded as a change of the items.
func TestCachedStateIsNoChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		cached := catalog.Server{Name: "s", State: "cached"}
		h.registry.Tell(message.SetServerRules{Server: cached})
		h.tools("s", "a")
		h.recorded(0)
		time.Sleep(time.Minute)
		last := h.changes.Last()
		h.rules("s", 0)
		time.Sleep(time.Minute)
		if got := h.recorded(last); got != "" {
			t.Errorf("recorded %q, want nothing", got)
		}
		h.registry.Tell(message.SetServerRules{Server: catalog.Server{Name: "s", Rules: config.Server{Disabled: true}}})
		if got, want := h.recorded(last), "s tool-changed -1 tool (s_a)"; got != want {
			t.Errorf("disabled: %q, want %q", got, want)
		}
	})
}

// A thousand servers that change at once yield at most logLines lines and one that says that there are more.
func TestLogIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		h.rules("first", 0)
		h.tools("first", "a")
		time.Sleep(2 * time.Second)
		for i := range 1000 {
			name := fmt.Sprintf("s%d", i)
			h.rules(name, 1+i)
			h.tools(name, strings.Repeat("long", 100), "b")
		}
		time.Sleep(time.Minute)
		actortest.Stop(t, h.system)
		lines := h.logged()
		if len(lines) != 1+logLines+1 || !strings.Contains(lines[len(lines)-1], "more servers") {
			t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
		}
		for _, line := range lines {
			if len(line) > logBytes+100 {
				t.Errorf("a log line has %d bytes", len(line))
			}
		}
		if list, _ := h.changes.After(0); len(list) != 1001 {
			t.Errorf("%d changes, want 1001", len(list))
		}
	})
}
