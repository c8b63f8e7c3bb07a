package actors

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

// named answers calls with its name.
func named(name string, tools ...string) *actortest.Server {
	return &actortest.Server{Tools: tools, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
		_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[{"type":"text","text":"from `+name+`"}]}`)))
	}}
}

func forge(cfg *config.Config) {
	for i := range cfg.Servers {
		cfg.Servers[i].Group = "forge"
	}
	cfg.Servers[0].Labels = map[string]string{"region": "eu"}
	cfg.Servers[1].Labels = map[string]string{"region": "us"}
}

func (h *house) callForge(name, meta string) string {
	return h.one(fmt.Sprintf(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":%q,"_meta":{%s}}}`, name, meta))
}

func prefer(region string, required bool) string {
	return fmt.Sprintf(`"goblin-actor/prefer":{"labels":{"region":%q},"required":%v}`, region, required)
}

// S4.2.2: servers of one group are replicas of one namespace; a call goes to them in turn, to the one that is named, or to
// whom the client prefers.
func TestAGroupIsOneNamespace(t *testing.T) {
	within(func(t *testing.T) {
		h := open(t, map[string]*actortest.Server{"one": named("one", "add"), "two": named("two", "add")}, forge)
		defer h.close()
		h.initialize()
		if got := toolNames(t, h.one(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); len(got) != 1 || got[0] != "forge_add" {
			t.Fatalf("tools %v", got)
		}
		first, second := h.callForge("forge_add", ""), h.callForge("forge_add", "")
		if first == second || !strings.Contains(first+second, "from one") || !strings.Contains(first+second, "from two") {
			t.Errorf("answered by %s and %s", first, second)
		}
		for replica, want := range []string{"from one", "from two"} {
			if got := h.callForge(fmt.Sprintf("forge:add@%d", replica), ""); !strings.Contains(got, want) {
				t.Errorf("replica %d: %s", replica, got)
			}
		}
		for region, want := range map[string]string{"eu": "from one", "us": "from two"} {
			for range 3 {
				if got := h.callForge("forge_add", prefer(region, true)); !strings.Contains(got, want) {
					t.Errorf("%s: %s", region, got)
				}
				if got := h.callForge("forge_add", prefer(region, false)); !strings.Contains(got, want) {
					t.Errorf("%s: %s", region, got)
				}
			}
		}
		if got := h.callForge("forge_add", prefer("mars", true)); !strings.Contains(got, "NO_BACKENDS_AVAILABLE") || !strings.Contains(got, "region=mars") {
			t.Errorf("nobody: %s", got)
		}
		if got := h.callForge("forge_add", `"goblin-actor/prefer":{"labels":[]}`); !strings.Contains(got, "-32602") {
			t.Errorf("senseless: %s", got)
		}
		picture, err := h.gateway.Status(t.Context())
		if err != nil || len(picture.Servers) != 1 || picture.Servers[0].Replicas != 2 || picture.Backends[0].Member != "one" || picture.Backends[1].Member != "two" {
			t.Errorf("status %+v (%v)", picture.Servers, err)
		}
	})(t)
}

// A tool that one member defines otherwise is called at those only that define it as it is listed, and people are told.
func TestAMemberWithAnotherTool(t *testing.T) {
	within(func(t *testing.T) {
		one := named("one", `{"name":"add","description":"adds","inputSchema":{"type":"object","required":["a"],"properties":{"a":{"type":"number"}}}}`, "same", "only")
		two := named("two", `{"name":"add","inputSchema":{"type":"object","properties":{"b":{"type":"number"}}}}`, `{"inputSchema":{"type":"object"},"name":"same","description":"another"}`, "extra")
		h := open(t, map[string]*actortest.Server{"one": one, "two": two}, forge)
		defer h.close()
		h.initialize()
		at := map[string]map[string]int{}
		for _, tool := range []string{"add", "same", "only"} {
			at[tool] = map[string]int{}
			for range 4 {
				got := h.callForge("forge_"+tool, "")
				for _, name := range []string{"one", "two"} {
					at[tool][name] += strings.Count(got, "from "+name)
				}
			}
		}
		if at["add"]["one"] != 4 || at["only"]["one"] != 4 || at["same"]["one"] != 2 || at["same"]["two"] != 2 {
			t.Errorf("called at %v", at)
		}
		if got := h.callForge("forge:add@1", ""); !strings.Contains(got, "from two") {
			t.Errorf("the replica that is named: %s", got)
		}
		if got := h.callForge("forge_add", prefer("us", true)); !strings.Contains(got, "NO_BACKENDS_AVAILABLE") {
			t.Errorf("required, but of another definition: %s", got)
		}
		picture, _ := h.gateway.Status(t.Context())
		if w := picture.Servers[0].Warnings; len(w) != 1 || !strings.Contains(w[0], "two") || !strings.Contains(w[0], "add, only") {
			t.Errorf("warnings %q", w)
		}
		two.SetTools(true, `{"name":"add","inputSchema":{"properties":{"a":{"type":"number"}},"required":["a"],"type":"object"}}`, "same", "only")
		time.Sleep(time.Second)
		if picture, _ := h.gateway.Status(t.Context()); len(picture.Servers[0].Warnings) != 0 {
			t.Errorf("mended, and still %q", picture.Servers[0].Warnings)
		}
	})(t)
}

// The lead goes to the other member when the first is lost, and calls follow what is listed then.
func TestAGroupWhoseFirstMemberIsLost(t *testing.T) {
	within(func(t *testing.T) {
		one, two := named("one", "add", "old"), named("two", "add", "new")
		h := open(t, map[string]*actortest.Server{"one": one, "two": two}, forge)
		defer h.close()
		h.initialize()
		one.SetRefuse(fmt.Errorf("gone"))
		one.Last().Close(nil)
		time.Sleep(10 * time.Second)
		h.got()
		if got := toolNames(t, h.one(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); len(got) != 2 || got[1] != "forge_new" {
			t.Errorf("tools %v", got)
		}
		if got := h.callForge("forge_new", ""); !strings.Contains(got, "from two") {
			t.Errorf("a tool of the other: %s", got)
		}
	})(t)
}

// A member that is switched off or restarted leaves the others' connections alone.
func TestMembersComeAndGo(t *testing.T) {
	within(func(t *testing.T) {
		one, two := named("one", "add"), named("two", "add")
		var cfg config.Config
		h := open(t, map[string]*actortest.Server{"one": one, "two": two}, func(c *config.Config) { forge(c); cfg = *c })
		defer h.close()
		h.initialize()
		change := func(disabled ...bool) {
			next := cfg
			next.Servers = append([]config.Server(nil), cfg.Servers...)
			for i, off := range disabled {
				next.Servers[i].Disabled = off
			}
			h.gateway.Reload(&next)
			time.Sleep(2 * time.Second)
			h.got()
		}
		change(true, false)
		for range 3 {
			if got := h.callForge("forge_add", ""); !strings.Contains(got, "from two") {
				t.Errorf("one is off: %s", got)
			}
		}
		if one.Opened() != 1 || two.Opened() != 1 {
			t.Errorf("opened %d and %d times", one.Opened(), two.Opened())
		}
		picture, _ := h.gateway.Status(t.Context())
		if len(picture.Servers) != 2 || picture.Servers[1].Name != "one" || picture.Servers[1].State != "disabled" || !picture.Ready {
			t.Errorf("status %+v", picture.Servers)
		}
		change(true, true)
		if got := h.one(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); strings.Contains(got, "forge_add") {
			t.Errorf("all are off: %s", got)
		}
		change(false, false)
		if err := h.gateway.Act(t.Context(), status.Action{Verb: status.Restart, Server: "two"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if one.Opened() != 2 || two.Opened() != 3 {
			t.Errorf("opened %d and %d times, want 2 and 3", one.Opened(), two.Opened())
		}
		if err := h.gateway.Act(t.Context(), status.Action{Verb: status.Restart, Server: "nobody"}); err == nil {
			t.Error("nobody was restarted")
		}
	})(t)
}

// Members may speak different eras, behind a URL too, where connections have classes.
func TestMembersOfDifferentEras(t *testing.T) {
	within(func(t *testing.T) {
		old := named("one", "add")
		young := &actortest.Modern{Tools: []string{"add"}, Handle: func(g actortest.Message) {
			g.Result(`{"resultType":"complete","content":[{"type":"text","text":"from two"}]}`)
		}}
		h := openOn(t, map[string]func(upstream.Sink) upstream.Link{"one": old.Open, "two": young.Open}, "http", Options{}, func(c *config.Config) {
			forge(c)
			for i := range c.Servers {
				c.Servers[i].Command, c.Servers[i].URLs, c.Servers[i].Isolation = "", []string{"http://127.0.0.1:1/" + c.Servers[i].Name}, "class"
			}
			c.Servers[0].Protocol, c.Servers[1].Protocol = "legacy", "modern"
		})
		defer h.close()
		time.Sleep(5 * time.Second)
		h.initialize()
		h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"forge_add","_meta":{%s}}}`, prefer("eu", true)))
		time.Sleep(5 * time.Second) // the connection of its class is made
		h.got()
		for region, want := range map[string]string{"eu": "from one", "us": "from two"} {
			for range 2 {
				if got := h.callForge("forge_add", prefer(region, true)); !strings.Contains(got, want) {
					t.Errorf("%s: %s", region, got)
				}
			}
		}
		first, second := h.callForge("forge_add", ""), h.callForge("forge_add", "")
		if first == second {
			t.Errorf("both are answered by %s", first)
		}
	})(t)
}
