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

// namedServer returns a server that answers calls with its name.
func namedServer(name string, tools ...string) *actortest.Server {
	return &actortest.Server{Tools: tools, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
		_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[{"type":"text","text":"from `+name+`"}]}`)))
	}}
}

// inGroup puts all servers into the group forge.
func inGroup(cfg *config.Config) {
	for i := range cfg.Servers {
		cfg.Servers[i].Group = "forge"
	}
	cfg.Servers[0].Labels = map[string]string{"region": "eu"}
	cfg.Servers[1].Labels = map[string]string{"region": "us"}
}

func (h *stdioHarness) callGroup(name, meta string) string {
	return h.roundTrip(fmt.Sprintf(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":%q,"_meta":{%s}}}`, name, meta))
}

func prefer(region string, required bool) string {
	return fmt.Sprintf(`"goblin-actor/prefer":{"labels":{"region":%q},"required":%v}`, region, required)
}

// S4.2.2: the servers of a group are replicas in one namespace. Calls go to them in turn, unless a call names a replica or its client
// prefers one.
func TestGroupIsOneNamespace(t *testing.T) {
	inBubble(func(t *testing.T) {
		h := startStdio(t, map[string]*actortest.Server{"one": namedServer("one", "add"), "two": namedServer("two", "add")}, inGroup)
		defer h.close()
		h.initialize()
		if got := toolNames(t, h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); len(got) != 1 || got[0] != "forge_add" {
			t.Fatalf("tools %v", got)
		}
		first, second := h.callGroup("forge_add", ""), h.callGroup("forge_add", "")
		if first == second || !strings.Contains(first+second, "from one") || !strings.Contains(first+second, "from two") {
			t.Errorf("answered by %s and %s", first, second)
		}
		for replica, want := range []string{"from one", "from two"} {
			if got := h.callGroup(fmt.Sprintf("forge:add@%d", replica), ""); !strings.Contains(got, want) {
				t.Errorf("replica %d: %s", replica, got)
			}
		}
		for region, want := range map[string]string{"eu": "from one", "us": "from two"} {
			for range 3 {
				if got := h.callGroup("forge_add", prefer(region, true)); !strings.Contains(got, want) {
					t.Errorf("%s: %s", region, got)
				}
				if got := h.callGroup("forge_add", prefer(region, false)); !strings.Contains(got, want) {
					t.Errorf("%s: %s", region, got)
				}
			}
		}
		if got := h.callGroup("forge_add", prefer("mars", true)); !strings.Contains(got, "NO_BACKENDS_AVAILABLE") || !strings.Contains(got, "region=mars") {
			t.Errorf("no such region: %s", got)
		}
		if got := h.callGroup("forge_add", `"goblin-actor/prefer":{"labels":[]}`); !strings.Contains(got, "-32602") {
			t.Errorf("malformed preference: %s", got)
		}
		snapshot, err := h.gateway.Status(t.Context())
		if err != nil || len(snapshot.Servers) != 1 || snapshot.Servers[0].Replicas != 2 || snapshot.Backends[0].Member != "one" || snapshot.Backends[1].Member != "two" {
			t.Errorf("status %+v (%v)", snapshot.Servers, err)
		}
	})(t)
}

// A tool is called only at members that define it with the same schemas as the listed definition, unless the call names its
// replica. Missing tools and different schemas cause a warning.
func TestGroupMembersDefineToolDifferently(t *testing.T) {
	inBubble(func(t *testing.T) {
		one := namedServer("one", `{"name":"add","description":"adds","inputSchema":{"type":"object","required":["a"],"properties":{"a":{"type":"number"}}}}`, "same", "only")
		two := namedServer("two", `{"name":"add","inputSchema":{"type":"object","properties":{"b":{"type":"number"}}}}`, `{"inputSchema":{"type":"object"},"name":"same","description":"another"}`, "extra")
		h := startStdio(t, map[string]*actortest.Server{"one": one, "two": two}, inGroup)
		defer h.close()
		h.initialize()
		at := map[string]map[string]int{}
		for _, tool := range []string{"add", "same", "only"} {
			at[tool] = map[string]int{}
			for range 4 {
				got := h.callGroup("forge_"+tool, "")
				for _, name := range []string{"one", "two"} {
					at[tool][name] += strings.Count(got, "from "+name)
				}
			}
		}
		if at["add"]["one"] != 4 || at["only"]["one"] != 4 || at["same"]["one"] != 2 || at["same"]["two"] != 2 {
			t.Errorf("calls by tool and member: %v", at)
		}
		if got := h.callGroup("forge:add@1", ""); !strings.Contains(got, "from two") {
			t.Errorf("the named replica: %s", got)
		}
		if got := h.callGroup("forge_add", prefer("us", true)); !strings.Contains(got, "NO_BACKENDS_AVAILABLE") {
			t.Errorf("a required member with another definition: %s", got)
		}
		snapshot, _ := h.gateway.Status(t.Context())
		if w := snapshot.Servers[0].Warnings; len(w) != 1 || !strings.Contains(w[0], "two") || !strings.Contains(w[0], "add, only") {
			t.Errorf("warnings %q", w)
		}
		two.SetTools(true, `{"name":"add","inputSchema":{"properties":{"a":{"type":"number"}},"required":["a"],"type":"object"}}`, "same", "only")
		time.Sleep(time.Second)
		if snapshot, _ := h.gateway.Status(t.Context()); len(snapshot.Servers[0].Warnings) != 0 {
			t.Errorf("warnings %q after the definitions became equal", snapshot.Servers[0].Warnings)
		}
	})(t)
}

// When the group's first member is lost, the next one determines the listed items and gets the calls.
func TestGroupFirstMemberLost(t *testing.T) {
	inBubble(func(t *testing.T) {
		one, two := namedServer("one", "add", "old"), namedServer("two", "add", "new")
		h := startStdio(t, map[string]*actortest.Server{"one": one, "two": two}, inGroup)
		defer h.close()
		h.initialize()
		one.SetRefuse(fmt.Errorf("gone"))
		one.Last().Close(nil)
		time.Sleep(10 * time.Second)
		h.received()
		if got := toolNames(t, h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); len(got) != 2 || got[1] != "forge_new" {
			t.Errorf("tools %v", got)
		}
		if got := h.callGroup("forge_new", ""); !strings.Contains(got, "from two") {
			t.Errorf("a tool of the other member: %s", got)
		}
	})(t)
}

// Disabling or restarting a member does not affect the other members' connections.
func TestGroupMembersDisabledAndRestarted(t *testing.T) {
	inBubble(func(t *testing.T) {
		one, two := namedServer("one", "add"), namedServer("two", "add")
		var cfg config.Config
		h := startStdio(t, map[string]*actortest.Server{"one": one, "two": two}, func(c *config.Config) { inGroup(c); cfg = *c })
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
			h.received()
		}
		change(true, false)
		for range 3 {
			if got := h.callGroup("forge_add", ""); !strings.Contains(got, "from two") {
				t.Errorf("while one is disabled: %s", got)
			}
		}
		if one.Opened() != 1 || two.Opened() != 1 {
			t.Errorf("opened %d and %d times", one.Opened(), two.Opened())
		}
		snapshot, _ := h.gateway.Status(t.Context())
		if len(snapshot.Servers) != 2 || snapshot.Servers[1].Name != "one" || snapshot.Servers[1].State != "disabled" || !snapshot.Ready {
			t.Errorf("status %+v", snapshot.Servers)
		}
		change(true, true)
		if got := h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); strings.Contains(got, "forge_add") {
			t.Errorf("all are disabled: %s", got)
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
		if err := h.gateway.Act(t.Context(), status.Action{Verb: status.Restart, Server: "missing"}); err == nil {
			t.Error("restarting an unknown server succeeded")
		}
	})(t)
}

// Members may have different eras, also with URLs and isolation by class.
func TestGroupMembersOfDifferentEras(t *testing.T) {
	inBubble(func(t *testing.T) {
		old := namedServer("one", "add")
		young := &actortest.Modern{Tools: []string{"add"}, Handle: func(g actortest.Message) {
			g.Result(`{"resultType":"complete","content":[{"type":"text","text":"from two"}]}`)
		}}
		h := startStdioWith(t, map[string]func(upstream.Sink) upstream.Link{"one": old.Open, "two": young.Open}, "http", Options{}, func(c *config.Config) {
			inGroup(c)
			for i := range c.Servers {
				c.Servers[i].Command, c.Servers[i].URLs, c.Servers[i].Isolation = "", []string{"http://127.0.0.1:1/" + c.Servers[i].Name}, "class"
			}
			c.Servers[0].Protocol, c.Servers[1].Protocol = "legacy", "modern"
		})
		defer h.close()
		time.Sleep(5 * time.Second)
		h.initialize()
		h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"forge_add","_meta":{%s}}}`, prefer("eu", true)))
		time.Sleep(5 * time.Second) // until the connection of the client's class is open
		h.received()
		for region, want := range map[string]string{"eu": "from one", "us": "from two"} {
			for range 2 {
				if got := h.callGroup("forge_add", prefer(region, true)); !strings.Contains(got, want) {
					t.Errorf("%s: %s", region, got)
				}
			}
		}
		first, second := h.callGroup("forge_add", ""), h.callGroup("forge_add", "")
		if first == second {
			t.Errorf("both calls were answered by %s", first)
		}
	})(t)
}
