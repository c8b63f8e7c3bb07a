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

// gatewayRuns returns a function that runs part of a test in a synctest bubble. The part gets a function that starts a
// gateway with the given servers. All these gateways share one state file.
func gatewayRuns(t *testing.T) func(do func(t *testing.T, open func(change func(*config.Config), servers ...*actortest.Server) *stdioHarness)) {
	path := filepath.Join(t.TempDir(), "state.db")
	return func(do func(*testing.T, func(func(*config.Config), ...*actortest.Server) *stdioHarness)) {
		t.Helper()
		inBubble(func(t *testing.T) {
			do(t, func(change func(*config.Config), servers ...*actortest.Server) *stdioHarness {
				openers := map[string]func(upstream.Sink) upstream.Link{}
				for i, name := range []string{"one", "two"}[:len(servers)] {
					openers[name] = servers[i].Open
				}
				openers["uno"] = servers[0].Open // server one, renamed
				return startStdioWith(t, openers, "stdio", Options{State: path}, func(c *config.Config) {
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

// listAtOnce initializes the session and lists the tools. It fails the test if any time passes.
func (h *stdioHarness) listAtOnce() string {
	h.t.Helper()
	began := time.Now()
	h.roundTrip(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	h.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	answer := h.roundTrip(listTools)
	if took := time.Since(began); took > 0 {
		h.t.Errorf("the list took %v", took)
	}
	return answer
}

// After a restart, the first list comes from the state file even if no server has answered. Once the servers have answered
// with the same items, the mark of cached items disappears, and clients are not notified.
func TestFirstListComesFromStateFile(t *testing.T) {
	life := gatewayRuns(t)
	life(func(t *testing.T, open func(func(*config.Config), ...*actortest.Server) *stdioHarness) {
		h := open(nil, &actortest.Server{Tools: []string{"a", "b"}, Prompts: []string{"p"}, Instructions: "use a"}, &actortest.Server{Tools: []string{"c"}})
		defer h.close()
		h.initialize()
		if got := h.roundTrip(listTools); strings.Contains(got, cachedMark) || len(toolNames(t, got)) != 3 {
			t.Errorf("first run: %s", got)
		}
	})
	life(func(t *testing.T, open func(func(*config.Config), ...*actortest.Server) *stdioHarness) {
		one, two := &actortest.Server{IgnoreInitialize: true}, &actortest.Server{IgnoreInitialize: true}
		h := open(nil, one, two)
		defer h.close()
		got := h.listAtOnce()
		if names := toolNames(t, got); !slices.Equal(names, []string{"one_a", "one_b", "two_c"}) || strings.Count(got, cachedMark) != 3 {
			t.Errorf("the list is %s", got)
		}
		if got := h.roundTrip(`{"jsonrpc":"2.0","id":2,"method":"prompts/list"}`); !strings.Contains(got, `"one_p"`) || !strings.Contains(got, cachedMark) {
			t.Errorf("prompts: %s", got)
		}
	})
	life(func(t *testing.T, open func(func(*config.Config), ...*actortest.Server) *stdioHarness) {
		h := open(nil, &actortest.Server{Tools: []string{"a", "b"}, Prompts: []string{"p"}, Instructions: "use a"}, &actortest.Server{Tools: []string{"c"}})
		defer h.close()
		first := h.listAtOnce()
		time.Sleep(time.Minute)
		if got := h.received(); len(got) != 0 {
			t.Errorf("clients were notified of %q, although nothing has changed", got)
		}
		second := h.roundTrip(listTools)
		if strings.Contains(second, cachedMark) || !slices.Equal(toolNames(t, first), toolNames(t, second)) {
			t.Errorf("after the servers have answered, the list is %s", second)
		}
	})
}

// When a server's list differs from the cached one, clients are notified and the new list is stored.
func TestLiveListReplacesCachedList(t *testing.T) {
	life := gatewayRuns(t)
	for i, tools := range [][]string{{"a"}, {"a", "b"}, {"b"}} {
		life(func(t *testing.T, open func(func(*config.Config), ...*actortest.Server) *stdioHarness) {
			h := open(nil, &actortest.Server{Tools: tools})
			defer h.close()
			if i == 0 {
				h.initialize()
				return
			}
			before := toolNames(t, h.listAtOnce())
			time.Sleep(time.Second)
			if got := h.received(); !slices.Equal(got, []string{`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`}) {
				t.Errorf("notifications %q after %v became %v", got, before, tools)
			}
			after := h.roundTrip(listTools)
			if names := toolNames(t, after); len(names) != len(tools) || strings.Contains(after, cachedMark) {
				t.Errorf("the list is %s, want %v", after, tools)
			}
		})
	}
}

// A request for an item that a starting server may have is answered with SERVER_UNAVAILABLE, however the item is named and whether
// or not the server's catalog is cached. A name that refers to a running server without such an item is unknown.
func TestItemsOfStartingServersAreNotUnknown(t *testing.T) {
	tool := func(name string) string { return `"tools/call","params":{"name":"` + name + `"` }
	read := func(uri string) string { return `"resources/read","params":{"uri":"` + uri + `"` }
	requests := []string{
		tool("one_new"), tool("one:new"), tool("one/new"), tool("one__new"), tool("one.new"), tool("one:new@0"), tool("new"),
		`"prompts/get","params":{"name":"one_new"`, `"prompts/get","params":{"name":"new"`,
		read("resource://one/file:///new"), read("one_file___new"), read("file:///new"),
		`"completion/complete","params":{"ref":{"type":"ref/prompt","name":"one_new"},"argument":{"name":"a","value":"b"}`,
		`"completion/complete","params":{"ref":{"type":"ref/resource","uri":"resource://one/file:///{x}"},"argument":{"name":"x","value":"b"}`,
	}
	life := gatewayRuns(t)
	for _, seen := range []bool{false, true} {
		life(func(t *testing.T, open func(func(*config.Config), ...*actortest.Server) *stdioHarness) {
			h := open(nil, &actortest.Server{IgnoreInitialize: true}, &actortest.Server{Tools: []string{"c"}, Prompts: []string{"p"}})
			defer h.close()
			time.Sleep(10 * time.Second)
			h.initialize()
			for _, ask := range requests {
				for era, line := range map[string]string{
					"legacy": `{"jsonrpc":"2.0","id":7,"method":` + ask + `}}`,
					"modern": `{"jsonrpc":"2.0","id":7,"method":` + strings.Replace(ask, `"params":{`, `"params":{`+fmt.Sprintf(modernMeta, "{}")+`,`, 1) + `}}`,
				} {
					if got := h.roundTrip(line); !strings.Contains(got, `"SERVER_UNAVAILABLE"`) || !strings.Contains(got, "starting") {
						t.Errorf("cached: %v, %s: %s: %s", seen, era, ask, got)
					}
				}
			}
			if got := h.roundTrip(`{"jsonrpc":"2.0","id":7,"method":` + tool("two_new") + `}}`); !strings.Contains(got, "TOOL_NOT_FOUND") {
				t.Errorf("two_new: %s", got)
			}
		})
		life(func(_ *testing.T, open func(func(*config.Config), ...*actortest.Server) *stdioHarness) { // fills the state file
			h := open(nil, &actortest.Server{Tools: []string{"a"}, Prompts: []string{"p"}}, &actortest.Server{Tools: []string{"c"}})
			defer h.close()
			h.initialize()
		})
	}
}

// A server without a cached catalog does not delay initialize if other servers have one. If no server has one,
// initialize waits, because the list would be empty.
func TestServerWithoutCacheDoesNotDelay(t *testing.T) {
	life := gatewayRuns(t)
	life(func(_ *testing.T, open func(func(*config.Config), ...*actortest.Server) *stdioHarness) {
		h := open(nil, &actortest.Server{Tools: []string{"a"}})
		defer h.close()
		h.initialize()
	})
	life(func(t *testing.T, open func(func(*config.Config), ...*actortest.Server) *stdioHarness) {
		h := open(nil, &actortest.Server{Tools: []string{"a"}}, &actortest.Server{IgnoreInitialize: true})
		defer h.close()
		if names := toolNames(t, h.listAtOnce()); !slices.Equal(names, []string{"one_a"}) {
			t.Errorf("the list has %v", names)
		}
	})
	inBubble(func(t *testing.T) {
		h := startStdio(t, map[string]*actortest.Server{"one": {IgnoreInitialize: true}}, nil)
		defer h.close()
		began := time.Now()
		if _, err := io.WriteString(h.in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`+"\n"); err != nil {
			t.Fatal(err)
		}
		for len(h.received()) == 0 {
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(began); took < 4*time.Second || took > 6*time.Second {
			t.Errorf("initialize without a cached catalog took %v, want about 5s", took)
		}
	})(t)
}

// A server that fails to start stays listed from the cache and is reported as cached. Calls to it fail with the reason.
func TestCachedServerFailsToStart(t *testing.T) {
	life := gatewayRuns(t)
	life(func(_ *testing.T, open func(func(*config.Config), ...*actortest.Server) *stdioHarness) {
		h := open(nil, &actortest.Server{Tools: []string{"a"}})
		defer h.close()
		h.initialize()
	})
	life(func(t *testing.T, open func(func(*config.Config), ...*actortest.Server) *stdioHarness) {
		server := &actortest.Server{Refuse: errors.New("no such program")}
		h := open(nil, server)
		defer h.close()
		h.listAtOnce()
		time.Sleep(10 * time.Second)
		if got := h.roundTrip(listTools); !strings.Contains(got, cachedMark) {
			t.Errorf("the list is %s", got)
		}
		if got := h.roundTrip(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one_a"}}`); !strings.Contains(got, `"SERVER_UNAVAILABLE"`) || !strings.Contains(got, "no such program") {
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

// The current filters apply to cached catalogs. A server that is disabled or misconfigured, or whose arguments or environment
// have changed, is not listed from the cache. A renamed server is, and so is one with more replicas.
func TestCacheFollowsConfiguration(t *testing.T) {
	life := gatewayRuns(t)
	life(func(_ *testing.T, open func(func(*config.Config), ...*actortest.Server) *stdioHarness) {
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
		{"disabled", func(c *config.Config) { c.Servers[0].Disabled = true }, []string{"two_c"}},
		{"another argument", func(c *config.Config) { c.Servers[0].Args = []string{"other"} }, []string{"two_c"}},
		{"another variable", func(c *config.Config) { c.Servers[0].Env = map[string]string{"TOKEN": "x"} }, []string{"two_c"}},
		{"another name", func(c *config.Config) { c.Servers[0].Name = "uno" }, []string{"two_c", "uno_a", "uno_b"}},
		{"replicas", func(c *config.Config) { c.Servers[0].Replicas = 2 }, []string{"one_a", "one_b", "two_c"}},
		{"misconfigured", func(c *config.Config) { c.Servers[0].Fault = "no" }, []string{"two_c"}},
	} {
		life(func(t *testing.T, open func(func(*config.Config), ...*actortest.Server) *stdioHarness) {
			h := open(tt.change, &actortest.Server{IgnoreInitialize: true}, &actortest.Server{IgnoreInitialize: true})
			defer h.close()
			if names := toolNames(t, h.listAtOnce()); !slices.Equal(names, tt.want) {
				t.Errorf("%s: the list has %v, want %v", tt.name, names, tt.want)
			}
		})
	}
}

// A server that is disabled and enabled again while the gateway runs is listed from the cache at once.
func TestCacheWithinOneRun(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"a"}}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		server.SetTools(true, "a", "b")
		time.Sleep(time.Second)
		cfg := config.Default()
		cfg.MetaTools = "false"
		one := config.DefaultServer()
		one.Name, one.Written, one.Command = "one", "one", "fake"
		off, on := cfg, cfg
		disabled := one
		disabled.Disabled = true
		off.Servers, on.Servers = []config.Server{disabled}, []config.Server{one}
		h.gateway.Reload(&off)
		time.Sleep(time.Second)
		h.received()
		if names := toolNames(t, h.roundTrip(listTools)); len(names) != 0 {
			t.Errorf("while disabled, the list is %v", names)
		}
		server.IgnoreInitialize = true
		h.gateway.Reload(&on)
		time.Sleep(time.Second)
		h.received()
		got := h.roundTrip(listTools)
		if names := toolNames(t, got); !slices.Equal(names, []string{"one_a", "one_b"}) || !strings.Contains(got, cachedMark) {
			t.Errorf("enabled again, the list is %s", got)
		}
	})(t)
}
