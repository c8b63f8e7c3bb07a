package actors

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol/upstream"
)

const (
	cachedMark = `"goblin-actor/state":"cached"`
	listTools  = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
)

// lives runs one life of a gateway after another on one state file, each with the servers that it is given.
func lives(t *testing.T) func(do func(t *testing.T, open func(change func(*config.Config), servers ...*actortest.Server) *house)) {
	path := filepath.Join(t.TempDir(), "state.db")
	return func(do func(*testing.T, func(func(*config.Config), ...*actortest.Server) *house)) {
		t.Helper()
		within(func(t *testing.T) {
			do(t, func(change func(*config.Config), servers ...*actortest.Server) *house {
				openers := map[string]func(upstream.Sink) upstream.Link{}
				for i, name := range []string{"one", "two"}[:len(servers)] {
					openers[name] = servers[i].Open
				}
				return openOn(t, openers, "stdio", Options{State: path}, func(c *config.Config) {
					for i := range c.Servers {
						c.Servers[i].Args = []string{c.Servers[i].Name}
					}
					if change != nil {
						change(c)
					}
				})
			})
		})(t)
	}
}

// listAtOnce is initialize and a list, without any time passing.
func (h *house) listAtOnce() string {
	h.t.Helper()
	began := time.Now()
	h.one(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	h.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	answer := h.one(listTools)
	if took := time.Since(began); took > 0 {
		h.t.Errorf("the list took %v", took)
	}
	return answer
}

// The first list after a restart is what was known before, though no server says a word; when they do, and say the same, the
// mark goes and nobody is bothered.
func TestTheListComesFromTheStateFile(t *testing.T) {
	life := lives(t)
	life(func(t *testing.T, open func(func(*config.Config), ...*actortest.Server) *house) {
		h := open(nil, &actortest.Server{Tools: []string{"a", "b"}, Prompts: []string{"p"}, Instructions: "use a"}, &actortest.Server{Tools: []string{"c"}})
		defer h.close()
		h.initialize()
		if got := h.one(listTools); strings.Contains(got, cachedMark) || len(toolNames(t, got)) != 3 {
			t.Errorf("the first time: %s", got)
		}
	})
	life(func(t *testing.T, open func(func(*config.Config), ...*actortest.Server) *house) {
		one, two := &actortest.Server{Mute: true}, &actortest.Server{Mute: true}
		h := open(nil, one, two)
		defer h.close()
		got := h.listAtOnce()
		if names := toolNames(t, got); !slices.Equal(names, []string{"one_a", "one_b", "two_c"}) || strings.Count(got, cachedMark) != 3 {
			t.Errorf("the list is %s", got)
		}
		if got := h.one(`{"jsonrpc":"2.0","id":2,"method":"prompts/list"}`); !strings.Contains(got, `"one_p"`) || !strings.Contains(got, cachedMark) {
			t.Errorf("prompts: %s", got)
		}
	})
	life(func(t *testing.T, open func(func(*config.Config), ...*actortest.Server) *house) {
		h := open(nil, &actortest.Server{Tools: []string{"a", "b"}, Prompts: []string{"p"}, Instructions: "use a"}, &actortest.Server{Tools: []string{"c"}})
		defer h.close()
		first := h.listAtOnce()
		time.Sleep(time.Minute)
		if got := h.got(); len(got) != 0 {
			t.Errorf("told of %q, though nothing has changed", got)
		}
		second := h.one(listTools)
		if strings.Contains(second, cachedMark) || !slices.Equal(toolNames(t, first), toolNames(t, second)) {
			t.Errorf("later the list is %s", second)
		}
	})
}

// A live list that differs is told to clients, and remembered in its turn.
func TestALiveListThatDiffers(t *testing.T) {
	life := lives(t)
	for i, tools := range [][]string{{"a"}, {"a", "b"}, {"b"}} {
		life(func(t *testing.T, open func(func(*config.Config), ...*actortest.Server) *house) {
			h := open(nil, &actortest.Server{Tools: tools})
			defer h.close()
			if i == 0 {
				h.initialize()
				return
			}
			before := toolNames(t, h.listAtOnce())
			time.Sleep(time.Second)
			if got := h.got(); !slices.Equal(got, []string{`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`}) {
				t.Errorf("told %q after %v became %v", got, before, tools)
			}
			after := h.one(listTools)
			if names := toolNames(t, after); len(names) != len(tools) || strings.Contains(after, cachedMark) {
				t.Errorf("the list is %s, want %v", after, tools)
			}
		})
	}
}
