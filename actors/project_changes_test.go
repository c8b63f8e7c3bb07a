package actors

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol/upstream"
)

// S3.4.1: two projects never hear of each other: neither of changes of lists, nor of resources, nor of log lines.
func TestProjectsHearOfThemselves(t *testing.T) {
	within(func(t *testing.T) {
		one, two := answering("a"), answering("b")
		one.Logging, two.Logging = true, true
		openers := map[string]func(upstream.Sink) upstream.Link{"one": one.Open, "two": two.Open}
		h := openIn(t, "alpha", openers, "stdio", Options{}, inProjects)
		defer h.close()
		h.initialize()
		listen := modern(9, "subscriptions/listen", "{}", `,"notifications":{"toolsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["file:///a","resource://two/file:///a"]}`)
		if got := h.send(listen); len(got) != 1 || !strings.Contains(got[0], `"resourceSubscriptions":["file:///a"]`) {
			t.Fatalf("listen: %v; the raw URI is ambiguous only beside another project's", got)
		}
		if got := h.one(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"resource://two/file:///a"}}`); !strings.Contains(got, "RESOURCE_NOT_FOUND") {
			t.Errorf("subscribed to another project's: %s", got)
		}
		if got := h.one(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"file:///a"}}`); !strings.Contains(got, "result") {
			t.Errorf("subscribe: %s", got)
		}
		h.one(`{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"debug"}}`)
		log := `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"x"}}`
		two.SetTools(true, "b", "c")
		_ = two.Last().Send([]byte(updatedFrame("file:///a")))
		_ = two.Last().Send([]byte(log))
		time.Sleep(time.Second)
		if got := h.got(); len(got) != 0 {
			t.Errorf("heard of another project: %v", got)
		}
		one.SetTools(true, "a", "c")
		_ = one.Last().Send([]byte(updatedFrame("file:///a")))
		_ = one.Last().Send([]byte(log))
		time.Sleep(time.Second)
		if got := strings.Join(h.got(), "\n"); strings.Count(got, "tools/list_changed") != 2 || strings.Count(got, "resources/updated") != 2 || strings.Count(got, "notifications/message") != 1 {
			t.Errorf("of its own it heard\n%s", got)
		}
	})(t)
}

// A project that goes leaves its sessions and streams with nothing, and they hear of that, and of its return, each once. Another
// project hears of neither.
func TestProjectGoesAndComesBack(t *testing.T) {
	within(func(t *testing.T) {
		one, two := answering("a"), answering("b")
		one.Logging = true
		openers := map[string]func(upstream.Sink) upstream.Link{"one": one.Open, "two": two.Open}
		var first config.Config
		h := openIn(t, "alpha", openers, "stdio", Options{}, func(c *config.Config) { inProjects(c); first = *c })
		defer h.close()
		h.initialize()
		h.send(modern(9, "subscriptions/listen", "{}", `,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///a"]}`))
		h.send(`{"jsonrpc":"2.0","id":8,"method":"resources/subscribe","params":{"uri":"file:///a"}}`)
		reload := func(list ...config.Project) string {
			next := first
			next.Projects = list
			for range 2 { // the same twice is no more than once
				h.gateway.Reload(&next)
				time.Sleep(time.Second)
			}
			return strings.Join(h.got(), "\n")
		}
		list, modernList := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, modern(2, "tools/list", "{}", "")
		if got := reload(first.Projects[0]); got != "" {
			t.Errorf("beta goes: %s", got)
		}
		if got := reload(first.Projects[0], config.Project{Name: "beta", Servers: []string{"one", "two"}}); got != "" {
			t.Errorf("beta comes back another one: %s", got)
		}
		if got := reload(); strings.Count(got, "tools/list_changed") != 2 {
			t.Errorf("alpha goes, told: %s", got)
		}
		for _, line := range []string{list, modernList} {
			if got := h.one(line); !strings.Contains(got, "Unknown project: alpha") || !strings.Contains(got, "UNKNOWN_PROJECT") {
				t.Errorf("in a project that is no more: %s", got)
			}
		}
		if got := h.one(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); !strings.Contains(got, "result") {
			t.Errorf("ping: %s", got)
		}
		_ = one.Last().Send([]byte(updatedFrame("file:///a")))
		_ = one.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"x"}}`))
		one.SetTools(true, "a", "c")
		time.Sleep(time.Second)
		if got := h.got(); len(got) != 0 {
			t.Errorf("heard in a project that is no more: %v", got)
		}
		if got := reload(first.Projects...); strings.Count(got, "tools/list_changed") != 2 {
			t.Errorf("alpha is back, told: %s", got)
		}
		for _, line := range []string{list, modernList} {
			if got := h.one(line); !strings.Contains(got, "one_a") || strings.Contains(got, "two") {
				t.Errorf("it is back: %s", got)
			}
		}
		_ = one.Last().Send([]byte(updatedFrame("file:///a")))
		if got := h.got(); len(got) != 2 || !strings.Contains(got[0], "resources/updated") {
			t.Errorf("updated: %v", got)
		}
		if got := reload(config.Project{Name: "alpha", Servers: []string{"two"}}); strings.Count(got, "tools/list_changed") != 2 {
			t.Errorf("alpha has another server, told: %s", got)
		}
		if got := h.one(list); !strings.Contains(got, "two_b") || strings.Contains(got, "one_a") {
			t.Errorf("with another server: %s", got)
		}
		if one.Opened() != 1 || two.Opened() != 1 {
			t.Errorf("the servers were connected %d and %d times", one.Opened(), two.Opened())
		}
	})(t)
}

// Over HTTP the path of a project that is no more is not found, and its session is there again when it is.
func TestPathOfAProjectThatGoes(t *testing.T) {
	var first config.Config
	w := serveWeb(t, map[string]*actortest.Server{"one": answering("a"), "two": answering("b")}, func(c *config.Config) { inProjects(c); first = *c })
	id := w.open("/p/alpha/mcp")
	wait := func(status int) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; {
			got := w.do("POST", "/p/alpha/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "Mcp-Session-Id", id)
			if got.status == status && strings.Contains(got.body, map[int]string{200: "one_a", 404: "UNKNOWN_PROJECT"}[status]) {
				return
			} else if time.Now().After(deadline) {
				t.Fatalf("want %d, got %d %s", status, got.status, got.body)
			}
		}
	}
	wait(200)
	next := first
	next.Projects = nil
	w.gateway.Reload(&next)
	wait(404)
	w.gateway.Reload(&first)
	wait(200)
}

// What waits for an answer of its client belongs to the project it was asked in.
func TestParkedInAProject(t *testing.T) {
	within(func(t *testing.T) {
		server := asks(elicit)
		h := open(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) {
			c.Projects = []config.Project{{Name: "alpha"}, {Name: "beta"}}
		})
		defer h.close()
		h.ready()
		named := func(project, line string) string {
			return strings.Replace(line, `"_meta":{`, `"_meta":{"goblin-actor/project":"`+project+`",`, 1)
		}
		h.send(named("alpha", modernCall(1, allCapabilities, "")))
		time.Sleep(30 * time.Millisecond)
		state := parseModern(t, h.got()[0]).Result.RequestState
		back := modernCall(2, allCapabilities, fmt.Sprintf(`,"requestState":%q,"inputResponses":{"q1":{"action":"accept","content":{}}}`, state))
		for _, line := range []string{named("beta", back), back} {
			if got := h.one(line); !strings.Contains(got, "REQUEST_STATE_INVALID") {
				t.Errorf("resumed in another project: %s", got)
			}
		}
		if len(server.Answers()) != 0 {
			t.Fatal("the server was answered from another project")
		}
		if h.send(named("alpha", back)); len(server.Answers()) != 1 {
			t.Error("the server was not answered from its own project")
		}
	})(t)
}

// Whoever is in a project waits for its servers alone: not for one that hangs outside, and is not told of it.
func TestProjectWaitsForItsOwn(t *testing.T) {
	within(func(t *testing.T) {
		openers := map[string]func(upstream.Sink) upstream.Link{"one": answering("a").Open, "two": (&actortest.Server{IgnoreInitialize: true}).Open}
		h := openIn(t, "alpha", openers, "stdio", Options{}, inProjects)
		defer h.close()
		got := h.send(initializeFrame)
		time.Sleep(500 * time.Millisecond)
		if got = append(got, h.got()...); len(got) != 1 {
			t.Errorf("initialize: %v after half a second", got)
		}
		for _, line := range []string{`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, modern(3, "tools/list", "{}", "")} {
			if got := h.one(line); !strings.Contains(got, "one_a") {
				t.Errorf("tools/list: %s", got)
			}
		}
		for _, name := range []string{"two_b", "two:b", "nobody"} {
			if got := h.one(fmt.Sprintf(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":%q}}`, name)); !strings.Contains(got, "TOOL_NOT_FOUND") || strings.Contains(got, "starting") {
				t.Errorf("%s: %s", name, got)
			}
		}
	})(t)
}
