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

// S3.4.1: a client gets no list changes, updates or log messages of another project.
func TestProjectsAreIsolated(t *testing.T) {
	inBubble(func(t *testing.T) {
		one, two := answeringServer("a"), answeringServer("b")
		one.Logging, two.Logging = true, true
		openers := map[string]func(upstream.Sink) upstream.Link{"one": one.Open, "two": two.Open}
		h := startStdioInProject(t, "alpha", openers, "stdio", Options{}, twoProjects)
		defer h.close()
		h.initialize()
		listen := modern(9, "subscriptions/listen", "{}", `,"notifications":{"toolsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["file:///a","resource://two/file:///a"]}`)
		if got := h.send(listen); len(got) != 1 || !strings.Contains(got[0], `"resourceSubscriptions":["file:///a"]`) {
			t.Fatalf("listen: %v; want the raw URI, which is unambiguous within the project", got)
		}
		if got := h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"resource://two/file:///a"}}`); !strings.Contains(got, "RESOURCE_NOT_FOUND") {
			t.Errorf("subscribe to another project's resource: %s", got)
		}
		if got := h.roundTrip(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"file:///a"}}`); !strings.Contains(got, "result") {
			t.Errorf("subscribe: %s", got)
		}
		h.roundTrip(`{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"debug"}}`)
		log := `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"x"}}`
		two.SetTools(true, "b", "c")
		_ = two.Last().Send([]byte(updatedFrame("file:///a")))
		_ = two.Last().Send([]byte(log))
		time.Sleep(time.Second)
		if got := h.received(); len(got) != 0 {
			t.Errorf("messages of another project: %v", got)
		}
		one.SetTools(true, "a", "c")
		_ = one.Last().Send([]byte(updatedFrame("file:///a")))
		_ = one.Last().Send([]byte(log))
		time.Sleep(time.Second)
		if got := strings.Join(h.received(), "\n"); strings.Count(got, "tools/list_changed") != 2 || strings.Count(got, "resources/updated") != 2 || strings.Count(got, "notifications/message") != 1 {
			t.Errorf("messages of its own project:\n%s", got)
		}
	})(t)
}

// When a project is removed, list requests of its clients are refused, and its sessions and streams receive no messages. They are
// notified once of its removal and once of its return. Clients of other projects get no notification.
func TestProjectRemovedAndAddedAgain(t *testing.T) {
	inBubble(func(t *testing.T) {
		one, two := answeringServer("a"), answeringServer("b")
		one.Logging = true
		openers := map[string]func(upstream.Sink) upstream.Link{"one": one.Open, "two": two.Open}
		var first config.Config
		h := startStdioInProject(t, "alpha", openers, "stdio", Options{}, func(c *config.Config) { twoProjects(c); first = *c })
		defer h.close()
		h.initialize()
		h.send(modern(9, "subscriptions/listen", "{}", `,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///a"]}`))
		h.send(`{"jsonrpc":"2.0","id":8,"method":"resources/subscribe","params":{"uri":"file:///a"}}`)
		reload := func(list ...config.Project) string {
			next := first
			next.Projects = list
			for range 2 { // a repeated reload changes nothing
				h.gateway.Reload(&next)
				time.Sleep(time.Second)
			}
			return strings.Join(h.received(), "\n")
		}
		list, modernList := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, modern(2, "tools/list", "{}", "")
		if got := reload(first.Projects[0]); got != "" {
			t.Errorf("beta removed: %s", got)
		}
		if got := reload(first.Projects[0], config.Project{Name: "beta", Servers: []string{"one", "two"}}); got != "" {
			t.Errorf("beta added again with other servers: %s", got)
		}
		if got := reload(); strings.Count(got, "tools/list_changed") != 2 {
			t.Errorf("alpha removed: %s", got)
		}
		for _, line := range []string{list, modernList} {
			if got := h.roundTrip(line); !strings.Contains(got, "Unknown project: alpha") || !strings.Contains(got, "UNKNOWN_PROJECT") {
				t.Errorf("in a removed project: %s", got)
			}
		}
		if got := h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); !strings.Contains(got, "result") {
			t.Errorf("ping: %s", got)
		}
		_ = one.Last().Send([]byte(updatedFrame("file:///a")))
		_ = one.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"x"}}`))
		one.SetTools(true, "a", "c")
		time.Sleep(time.Second)
		if got := h.received(); len(got) != 0 {
			t.Errorf("messages in a removed project: %v", got)
		}
		if got := reload(first.Projects...); strings.Count(got, "tools/list_changed") != 2 {
			t.Errorf("alpha added again: %s", got)
		}
		for _, line := range []string{list, modernList} {
			if got := h.roundTrip(line); !strings.Contains(got, "one_a") || strings.Contains(got, "two") {
				t.Errorf("after alpha was added again: %s", got)
			}
		}
		_ = one.Last().Send([]byte(updatedFrame("file:///a")))
		if got := h.received(); len(got) != 2 || !strings.Contains(got[0], "resources/updated") {
			t.Errorf("update: %v", got)
		}
		if got := reload(config.Project{Name: "alpha", Servers: []string{"two"}}); strings.Count(got, "tools/list_changed") != 2 {
			t.Errorf("alpha with another server: %s", got)
		}
		if got := h.roundTrip(list); !strings.Contains(got, "two_b") || strings.Contains(got, "one_a") {
			t.Errorf("with another server: %s", got)
		}
		if one.Opened() != 1 || two.Opened() != 1 {
			t.Errorf("the servers were connected %d and %d times, want 1 and 1", one.Opened(), two.Opened())
		}
	})(t)
}

// Over HTTP, the path of a removed project answers 404. Its session works again when the project is back.
func TestPathOfRemovedProject(t *testing.T) {
	var first config.Config
	w := startHTTP(t, map[string]*actortest.Server{"one": answeringServer("a"), "two": answeringServer("b")}, func(c *config.Config) { twoProjects(c); first = *c })
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

// A parked call can be resumed only in the project in which it was made.
func TestParkedCallStaysInProject(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := serverAsking(elicit)
		h := startStdio(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) {
			c.Projects = []config.Project{{Name: "alpha"}, {Name: "beta"}}
		})
		defer h.close()
		h.waitReady()
		named := func(project, line string) string {
			return strings.Replace(line, `"_meta":{`, `"_meta":{"goblin-actor/project":"`+project+`",`, 1)
		}
		h.send(named("alpha", modernCall(1, allCapabilities, "")))
		time.Sleep(30 * time.Millisecond)
		state := parseModern(t, h.received()[0]).Result.RequestState
		back := modernCall(2, allCapabilities, fmt.Sprintf(`,"requestState":%q,"inputResponses":{"q1":{"action":"accept","content":{}}}`, state))
		for _, line := range []string{named("beta", back), back} {
			if got := h.roundTrip(line); !strings.Contains(got, "REQUEST_STATE_INVALID") {
				t.Errorf("resumed in another project: %s", got)
			}
		}
		if len(server.Answers()) != 0 {
			t.Fatal("the server got an answer from another project")
		}
		if h.send(named("alpha", back)); len(server.Answers()) != 1 {
			t.Error("the server did not get the answer from its own project")
		}
	})(t)
}

// A client in a project waits only for the project's servers. Hanging servers outside the project do not delay it, and their names are
// not revealed to it.
func TestProjectWaitsForItsServersOnly(t *testing.T) {
	inBubble(func(t *testing.T) {
		openers := map[string]func(upstream.Sink) upstream.Link{"one": answeringServer("a").Open, "two": (&actortest.Server{IgnoreInitialize: true}).Open}
		h := startStdioInProject(t, "alpha", openers, "stdio", Options{}, twoProjects)
		defer h.close()
		got := h.send(initializeFrame)
		time.Sleep(500 * time.Millisecond)
		if got = append(got, h.received()...); len(got) != 1 {
			t.Errorf("initialize: %v after half a second", got)
		}
		for _, line := range []string{`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, modern(3, "tools/list", "{}", "")} {
			if got := h.roundTrip(line); !strings.Contains(got, "one_a") {
				t.Errorf("tools/list: %s", got)
			}
		}
		for _, name := range []string{"two_b", "two:b", "missing"} {
			if got := h.roundTrip(fmt.Sprintf(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":%q}}`, name)); !strings.Contains(got, "TOOL_NOT_FOUND") || strings.Contains(got, "starting") {
				t.Errorf("%s: %s", name, got)
			}
		}
	})(t)
}
