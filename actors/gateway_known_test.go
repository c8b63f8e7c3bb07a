package actors

import (
	"errors"
	"fmt"
	"io"
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
				openers["uno"] = servers[0].Open // one, renamed
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
		one, two := &actortest.Server{IgnoreInitialize: true}, &actortest.Server{IgnoreInitialize: true}
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

// What a server may have that is in its first start is never called unknown, whatever it is called by, listed from the state file or
// not; what a server that is there does not have is.
func TestNothingIsUnknownThatMayBeStarting(t *testing.T) {
	tool := func(name string) string { return `"tools/call","params":{"name":"` + name + `"` }
	read := func(uri string) string { return `"resources/read","params":{"uri":"` + uri + `"` }
	asked := []string{
		tool("one_new"), tool("one:new"), tool("one/new"), tool("one__new"), tool("one.new"), tool("one:new@0"), tool("new"),
		`"prompts/get","params":{"name":"one_new"`, `"prompts/get","params":{"name":"new"`,
		read("resource://one/file:///new"), read("one_file___new"), read("file:///new"),
		`"completion/complete","params":{"ref":{"type":"ref/prompt","name":"one_new"},"argument":{"name":"a","value":"b"}`,
		`"completion/complete","params":{"ref":{"type":"ref/resource","uri":"resource://one/file:///{x}"},"argument":{"name":"x","value":"b"}`,
	}
	life := lives(t)
	for _, seen := range []bool{false, true} {
		life(func(t *testing.T, open func(func(*config.Config), ...*actortest.Server) *house) {
			h := open(nil, &actortest.Server{IgnoreInitialize: true}, &actortest.Server{Tools: []string{"c"}, Prompts: []string{"p"}})
			defer h.close()
			time.Sleep(10 * time.Second)
			h.initialize()
			for _, ask := range asked {
				for era, line := range map[string]string{
					"legacy": `{"jsonrpc":"2.0","id":7,"method":` + ask + `}}`,
					"modern": `{"jsonrpc":"2.0","id":7,"method":` + strings.Replace(ask, `"params":{`, `"params":{`+fmt.Sprintf(modernMeta, "{}")+`,`, 1) + `}}`,
				} {
					if got := h.one(line); !strings.Contains(got, `"SERVER_UNAVAILABLE"`) || !strings.Contains(got, "starting") {
						t.Errorf("remembered: %v, %s: %s: %s", seen, era, ask, got)
					}
				}
			}
			if got := h.one(`{"jsonrpc":"2.0","id":7,"method":` + tool("two_new") + `}}`); !strings.Contains(got, "TOOL_NOT_FOUND") {
				t.Errorf("two_new: %s", got)
			}
		})
		life(func(_ *testing.T, open func(func(*config.Config), ...*actortest.Server) *house) { // that it is remembered
			h := open(nil, &actortest.Server{Tools: []string{"a"}, Prompts: []string{"p"}}, &actortest.Server{Tools: []string{"c"}})
			defer h.close()
			h.initialize()
		})
	}
}

// A server that has never been seen holds nobody up where others are known; where none is, there would be nothing to show.
func TestAnUnknownServerHoldsNobodyUp(t *testing.T) {
	life := lives(t)
	life(func(_ *testing.T, open func(func(*config.Config), ...*actortest.Server) *house) {
		h := open(nil, &actortest.Server{Tools: []string{"a"}})
		defer h.close()
		h.initialize()
	})
	life(func(t *testing.T, open func(func(*config.Config), ...*actortest.Server) *house) {
		h := open(nil, &actortest.Server{Tools: []string{"a"}}, &actortest.Server{IgnoreInitialize: true})
		defer h.close()
		if names := toolNames(t, h.listAtOnce()); !slices.Equal(names, []string{"one_a"}) {
			t.Errorf("the list has %v", names)
		}
	})
	within(func(t *testing.T) {
		h := open(t, map[string]*actortest.Server{"one": {IgnoreInitialize: true}}, nil)
		defer h.close()
		began := time.Now()
		if _, err := io.WriteString(h.in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`+"\n"); err != nil {
			t.Fatal(err)
		}
		for len(h.got()) == 0 {
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(began); took < 4*time.Second || took > 6*time.Second {
			t.Errorf("where nothing is known initialize took %v", took)
		}
	})(t)
}

// A server whose first attempt fails stays listed as it was remembered, is called cached, and calls to it say why.
func TestARememberedServerThatFails(t *testing.T) {
	life := lives(t)
	life(func(_ *testing.T, open func(func(*config.Config), ...*actortest.Server) *house) {
		h := open(nil, &actortest.Server{Tools: []string{"a"}})
		defer h.close()
		h.initialize()
	})
	life(func(t *testing.T, open func(func(*config.Config), ...*actortest.Server) *house) {
		server := &actortest.Server{Refuse: errors.New("no such program")}
		h := open(nil, server)
		defer h.close()
		h.listAtOnce()
		time.Sleep(10 * time.Second)
		if got := h.one(listTools); !strings.Contains(got, cachedMark) {
			t.Errorf("the list is %s", got)
		}
		if got := h.one(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one_a"}}`); !strings.Contains(got, `"SERVER_UNAVAILABLE"`) || !strings.Contains(got, "no such program") {
			t.Errorf("a call: %s", got)
		}
		s, err := h.gateway.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !s.Ready || s.Servers[0].State != "waiting" || s.Servers[0].CachedSince.IsZero() || !strings.Contains(s.Servers[0].Reason, "catalog cached at ") || s.Servers[0].Tools != 1 {
			t.Errorf("status: ready %v, %+v", s.Ready, s.Servers[0])
		}
	})
}

// Filters in force apply to what is remembered; a server that is switched off, or whose command is another one, is not listed from
// the file; one that is switched on again in the same process is listed at once as it was last.
func TestRememberedAndConfigured(t *testing.T) {
	life := lives(t)
	life(func(_ *testing.T, open func(func(*config.Config), ...*actortest.Server) *house) {
		h := open(nil, &actortest.Server{Tools: []string{"a", "b"}}, &actortest.Server{Tools: []string{"c"}})
		defer h.close()
		h.initialize()
	})
	for _, tt := range []struct {
		name   string
		change func(c *config.Config)
		want   []string
	}{
		{"a filter", func(c *config.Config) { c.Servers[0].Tools.Deny = []string{"b"} }, []string{"one_a", "two_c"}},
		{"switched off", func(c *config.Config) { c.Servers[0].Disabled = true }, []string{"two_c"}},
		{"another argument", func(c *config.Config) { c.Servers[0].Args = []string{"other"} }, []string{"two_c"}},
		{"another variable", func(c *config.Config) { c.Servers[0].Env = map[string]string{"TOKEN": "x"} }, []string{"two_c"}},
		{"another name", func(c *config.Config) { c.Servers[0].Name = "uno" }, []string{"two_c", "uno_a", "uno_b"}},
		{"replicas", func(c *config.Config) { c.Servers[0].Replicas = 2 }, []string{"one_a", "one_b", "two_c"}},
		{"a fault", func(c *config.Config) { c.Servers[0].Fault = "no" }, []string{"two_c"}},
	} {
		life(func(t *testing.T, open func(func(*config.Config), ...*actortest.Server) *house) {
			h := open(tt.change, &actortest.Server{IgnoreInitialize: true}, &actortest.Server{IgnoreInitialize: true})
			defer h.close()
			if names := toolNames(t, h.listAtOnce()); !slices.Equal(names, tt.want) {
				t.Errorf("%s: the list has %v, want %v", tt.name, names, tt.want)
			}
		})
	}
}

// A server that is switched off and on again, in one life of the gateway, is listed at once as it was last.
func TestRememberedWithinOneLife(t *testing.T) {
	within(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"a"}}
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		server.SetTools(true, "a", "b")
		time.Sleep(time.Second)
		cfg := config.Default()
		cfg.MetaTools = "false"
		one := config.DefaultServer()
		one.Name, one.Written, one.Command = "one", "one", "fake"
		off, on := cfg, cfg
		gone := one
		gone.Disabled = true
		off.Servers, on.Servers = []config.Server{gone}, []config.Server{one}
		h.gateway.Reload(&off)
		time.Sleep(time.Second)
		h.got()
		if names := toolNames(t, h.one(listTools)); len(names) != 0 {
			t.Errorf("switched off it lists %v", names)
		}
		server.IgnoreInitialize = true
		h.gateway.Reload(&on)
		time.Sleep(time.Second)
		h.got()
		got := h.one(listTools)
		if names := toolNames(t, got); !slices.Equal(names, []string{"one_a", "one_b"}) || !strings.Contains(got, cachedMark) {
			t.Errorf("switched on again it lists %s", got)
		}
	})(t)
}
