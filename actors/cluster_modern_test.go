package actors

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol/upstream"
)

// reachedByURL makes the servers remote: both nodes reach the same one.
func reachedByURL(c *config.Config) {
	withAuth(c)
	for i := range c.Servers {
		c.Servers[i].Command, c.Servers[i].URLs = "", []string{"http://127.0.0.1:9/mcp"}
	}
}

// A retry reaches the node that holds its call, whichever node receives it. If no node holds the call, because the server has
// answered input_required, any node that reaches the server continues it. Another principal's state is refused at once.
func TestRetryAtAnotherNode(t *testing.T) {
	parking := func() map[string]*actortest.Server { return map[string]*actortest.Server{"one": parkingServer()} }
	relaying := relayingServer()
	for name, c := range map[string]struct {
		servers func() map[string]*actortest.Server
		open    []func(upstream.Sink) upstream.Link
		change  func(*config.Config)
		relayed []string
	}{
		"parked":                    {servers: parking, change: withAuth, relayed: []string{"tools/call"}},
		"relayed state, process":    {servers: oneTool, open: []func(upstream.Sink) upstream.Link{relaying.Open}, change: withAuth, relayed: []string{"tools/call"}},
		"relayed state, remote one": {servers: oneTool, open: []func(upstream.Sink) upstream.Link{relaying.Open}, change: reachedByURL},
	} {
		a, b, relay := startCluster(t, c.servers, c.change, c.open...)
		for _, w := range []*httpHarness{a, b} {
			w.people.get("alice")
			w.people.get("mallory")
		}
		const call, accept = `,"name":"one_ask","arguments":{"a":1}`, `,"inputResponses":{"q1":{"action":"accept","content":{}},"a":{"action":"accept","content":{}}}`
		first := parseModern(t, a.modernAs("alice", "tools/call", allCapabilities, call).body)
		retry := func(w *httpHarness, who, state string) reply {
			return w.modernAs(who, "tools/call", allCapabilities, fmt.Sprintf(`%s,"requestState":%q%s`, call, state, accept))
		}
		if stolen, forged := retry(b, "mallory", first.Result.RequestState), retry(b, "mallory", "forged"); stolen != forged || !strings.Contains(stolen.body, "REQUEST_STATE_INVALID") {
			t.Errorf("%s: another's state: %+v, a forged one: %+v", name, stolen, forged)
		}
		if relayed := relay.take(); relayed != nil {
			t.Errorf("%s: relayed %q for another principal", name, relayed)
		}
		if got := parseModern(t, retry(b, "alice", first.Result.RequestState).body); got.Error != nil || got.Result.ResultType != "complete" {
			t.Errorf("%s: the retry at the other node: %+v", name, got)
		}
		if relayed := relay.take(); !slices.Equal(relayed, c.relayed) {
			t.Errorf("%s: relayed %q, want %q", name, relayed, c.relayed)
		}
	}
}

// The id of a task names the node whose process runs it, so that every node can serve requests for the task. A task of a remote
// server is served by any node.
func TestTaskAtAnotherNode(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*config.Config)
		prefix  string // of the task's id; %s = the incarnation of the node
		relayed []string
	}{
		"process": {withAuth, "one@%s/7~x/y~", []string{"tasks/get"}},
		"remote":  {reachedByURL, "one/7~x/y~", nil},
	} {
		server := modernTaskServer()
		a, b, relay := startCluster(t, oneTool, c.change, server.Open)
		for _, w := range []*httpHarness{a, b} {
			w.people.get("alice")
			w.people.get("mallory")
		}
		created := a.modernAs("alice", "tools/call", tasksCapability, `,"name":"one_dig"`)
		_, rest, _ := strings.Cut(created.body, `"taskId":"`)
		id, _, _ := strings.Cut(rest, `"`)
		if want := strings.Replace(c.prefix, "%s", a.gateway.cluster.Members.Self(), 1); !strings.HasPrefix(id, want) {
			t.Fatalf("%s: %+v, want a task id that begins with %s", name, created, want)
		}
		get := func(w *httpHarness, who string) reply {
			return w.modernAs(who, "tasks/get", tasksCapability, fmt.Sprintf(`,"taskId":%q`, id))
		}
		if got := get(b, "mallory"); !strings.Contains(got.body, "Unknown task") || relay.take() != nil {
			t.Errorf("%s: another's task: %+v", name, got)
		}
		if got := get(b, "alice"); !strings.Contains(got.body, `"status":"working"`) || !strings.Contains(got.body, id) {
			t.Errorf("%s: %+v", name, got)
		}
		if relayed := relay.take(); !slices.Equal(relayed, c.relayed) {
			t.Errorf("%s: relayed %q, want %q", name, relayed, c.relayed)
		}
	}
}
