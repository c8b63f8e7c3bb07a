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

// told returns what those who watch the catalog have been shown after the change of that number.
func (h *house) told(after uint64) string {
	synctest.Wait()
	var texts []string
	list, _ := h.changes.After(after)
	for _, c := range list {
		texts = append(texts, fmt.Sprintf("%s %s %s", c.Server, c.Topic, c.Text(10)))
	}
	return strings.Join(texts, "; ")
}

// logged returns what the log has been told of changes.
func (h *house) logged() (lines []string) {
	for line := range strings.Lines(h.log.String()) {
		if _, change, ok := strings.Cut(line, "msg=catalog actor=registry "); ok && !strings.Contains(change, "warning=") {
			lines = append(lines, strings.TrimSpace(change))
		}
	}
	return lines
}

// S2.4.1: whoever watches is told what each new catalog has made of the last one, and the log in short, at most every five seconds.
func TestChangesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.rules("s", 0)
		h.tools("s", "a", "b")
		if got, want := h.told(0), "s tool-changed +2 tools (s_a, s_b)"; got != want {
			t.Errorf("the first list: %q, want %q", got, want)
		}
		time.Sleep(2 * time.Second)
		changed := append(items("b"), []byte(`{"name":"c","uri":"f:///c","description":"new"}`))
		h.registry.Tell(message.ServerCatalog{Server: "s", Kind: protocol.Tools, Items: changed})
		if got, want := h.told(1), "s tool-changed +1 tool (s_c), -1 tool (s_a)"; got != want {
			t.Errorf("the second list: %q, want %q", got, want)
		}
		for i := range 100 { // a server that cannot make up its mind
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
			t.Errorf("26 s of changes make %d lines:\n%s", len(lines), strings.Join(lines, "\n"))
		}
		if want := `server=s change="+2 tools (s_a, s_b)"`; lines[0] != want {
			t.Errorf("the log begins with %q, want %q", lines[0], want)
		}
		if last := lines[len(lines)-1]; !strings.Contains(last, "+1 tool (s_x99)") {
			t.Errorf("the log ends with %q, not with the last list", last)
		}
	})
}

// That a list comes from the cache, or no longer, is told in each item's _meta and is no change of the items.
func TestAMarkIsNoChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		cached := catalog.Server{Name: "s", State: "cached"}
		h.registry.Tell(message.SetServerRules{Server: cached})
		h.tools("s", "a")
		h.told(0)
		time.Sleep(time.Minute)
		last := h.changes.Last()
		h.rules("s", 0)
		time.Sleep(time.Minute)
		if got := h.told(last); got != "" {
			t.Errorf("told of %q", got)
		}
		h.registry.Tell(message.SetServerRules{Server: catalog.Server{Name: "s", Rules: config.Server{Disabled: true}}})
		if got, want := h.told(last), "s tool-changed -1 tool (s_a)"; got != want {
			t.Errorf("disabled: %q, want %q", got, want)
		}
	})
}

// A thousand servers at once are twenty lines and a word.
func TestTheLogIsNotFlooded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
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
		if len(lines) != 1+spokenLines+1 || !strings.Contains(lines[len(lines)-1], "more servers") {
			t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
		}
		for _, line := range lines {
			if len(line) > spokenBytes+100 {
				t.Errorf("a line of %d bytes", len(line))
			}
		}
		if list, _ := h.changes.After(0); len(list) != 1001 {
			t.Errorf("%d changes, want 1001", len(list))
		}
	})
}
