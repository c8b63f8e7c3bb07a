package actors

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/protocol/upstream"
)

// eachClient runs f with a client of each era. The functions list and call return requests of that client.
func eachClient(t *testing.T, f func(t *testing.T, open func(*stdioHarness), list func(id int) string, call func(id int, name string) string)) {
	t.Run("legacy", inBubble(func(t *testing.T) {
		f(t, (*stdioHarness).initialize, func(id int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, id)
		}, func(id int, name string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, id, name)
		})
	}))
	t.Run("modern", inBubble(func(t *testing.T) {
		f(t, (*stdioHarness).waitReady, func(id int) string { return modern(id, "tools/list", "{}", "") }, func(id int, name string) string {
			return modern(id, "tools/call", "{}", fmt.Sprintf(`,"name":%q,"arguments":{}`, name))
		})
	}))
}

// A server's lists are stale at once, and it announces no changes. A list request is answered from the catalog without waiting. It
// triggers a fetch, so that the next one has the new tools. A call of an unknown tool waits for the fetch.
func TestToolsAddedWithoutNotification(t *testing.T) {
	eachClient(t, func(t *testing.T, begin func(*stdioHarness), list func(int) string, call func(int, string) string) {
		server := &actortest.Modern{Tools: []string{"a"}}
		h := openModern(t, server, Options{})
		defer h.close()
		begin(h)
		time.Sleep(time.Minute)
		server.SetTools("a", "b")
		first := h.send(list(1))
		if got := toolNames(t, first[0]); !slices.Equal(got, []string{"one_a"}) {
			t.Errorf("the first list has %v, want the cached tools at once", got)
		}
		time.Sleep(time.Second)
		notified := slices.Contains(append(first, h.received()...), `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		if notified != strings.Contains(list(1), `"method":"tools/list"}`) {
			t.Errorf("the client was notified of the change: %v", notified)
		}
		if got := toolNames(t, h.roundTrip(list(2))); !slices.Equal(got, []string{"one_a", "one_b"}) {
			t.Errorf("the next list has %v, want the new tool", got)
		}
		time.Sleep(time.Minute)
		server.SetTools("a", "b", "c")
		h.received()
		h.send(call(3, "one_c"))
		time.Sleep(time.Second)
		server.SetTools("a", "b", "c", "d")
		h.send(call(4, "d"), call(5, "one_nothing")) // too soon for another fetch; the calls wait for it
		time.Sleep(lookupTime)
		var answers []string
		for _, g := range server.Received("tools/call") {
			answers = append(answers, string(g.Params.Name.Of(g.Frame.Raw)))
		}
		if !slices.Equal(answers, []string{`"c"`, `"d"`}) {
			t.Errorf("the server got calls of %v, want c and d", answers)
		}
	})
}

// lookupTime is long enough for a list to be fetched again.
const lookupTime = 10 * time.Second

// A server's list is fetched at a bounded rate, however many requests need it. Every request is answered.
func TestListRefreshRateIsBounded(t *testing.T) {
	eachClient(t, func(t *testing.T, begin func(*stdioHarness), list func(int) string, call func(int, string) string) {
		server := &actortest.Modern{Tools: []string{"a"}}
		h := openModern(t, server, Options{})
		defer h.close()
		begin(h)
		time.Sleep(time.Minute)
		before, answers := len(server.Received("tools/list")), 0
		count := func(lines []string) {
			for _, line := range lines {
				if !strings.Contains(line, `"method"`) {
					answers++
				}
			}
		}
		for i := range 300 {
			count(h.send(list(2*i), call(2*i+1, fmt.Sprintf("one_x%d", i))))
			time.Sleep(100 * time.Millisecond) // 30 s
		}
		time.Sleep(lookupTime)
		count(h.received())
		if answers != 600 {
			t.Errorf("%d responses to 600 requests", answers)
		}
		if n := len(server.Received("tools/list")) - before; n < 5 || n > 20 {
			t.Errorf("the list was fetched %d times in 30 s, want once per 2 s", n)
		}
		if n := len(server.Received("tools/call")); n != 0 {
			t.Errorf("the server got %d calls of unknown tools", n)
		}
	})
}

// When a server is lost while a request waits for its list, the request is answered from the cached catalog.
func TestServerLostDuringListRefresh(t *testing.T) {
	eachClient(t, func(t *testing.T, begin func(*stdioHarness), _ func(int) string, call func(int, string) string) {
		server := &actortest.Modern{Tools: []string{"a"}}
		h := openModern(t, server, Options{})
		defer h.close()
		begin(h)
		time.Sleep(time.Minute)
		h.send(call(1, "one_x"))
		time.Sleep(time.Second)
		if got := h.send(call(2, "one_y")); len(got) != 0 {
			t.Fatalf("got %q, want the request to wait", got)
		}
		server.Last().Close(errors.New("gone"))
		if got := h.received(); len(got) != 1 || !strings.Contains(got[0], "Tool not found: one_y") {
			t.Errorf("after the loss: %q", got)
		}
	})
}

// While a server starts, calls of tools it may have fail with a retryable error. Clients are notified when it is ready.
func TestCallsWhileServerStarts(t *testing.T) {
	eachClient(t, func(t *testing.T, _ func(*stdioHarness), list func(int) string, call func(int, string) string) {
		slow, quick := &actortest.Server{Tools: []string{"dig"}}, &actortest.Server{Tools: []string{"add"}}
		var up atomic.Bool
		opened := func(sink upstream.Sink) upstream.Link {
			server := slow
			if !up.Load() {
				server = &actortest.Server{IgnoreInitialize: true}
			}
			return server.Open(sink)
		}
		h := startStdioWith(t, map[string]func(upstream.Sink) upstream.Link{"one": quick.Open, "two": opened}, "stdio", Options{}, nil)
		defer h.close()
		legacy := strings.Contains(list(1), `"id":1,"method":"tools/list"}`)
		if legacy {
			h.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
			time.Sleep(6 * time.Second)
			h.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		} else {
			time.Sleep(6 * time.Second)
		}
		h.received()
		for name, want := range map[string]string{
			"two_dig": "SERVER_UNAVAILABLE", "two:dig": "SERVER_UNAVAILABLE", "dig": "SERVER_UNAVAILABLE", "one_dig": "Tool not found", "one_add": `"result"`,
		} {
			got := h.roundTrip(call(2, name))
			if !strings.Contains(got, want) || want == "SERVER_UNAVAILABLE" && (!strings.Contains(got, `"retryable":true`) || !strings.Contains(got, "server two is starting")) {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
		up.Store(true)
		time.Sleep(5 * time.Minute) // the mute server times out and is opened again
		if got := h.received(); legacy && !slices.Contains(got, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`) {
			t.Errorf("when the server was ready the client got %q, want a notification", got)
		}
		for name, want := range map[string]string{"two_dig": `"result"`, "dig": `"result"`, "two_dug": "Tool not found"} {
			if got := h.roundTrip(call(3, name)); !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
	})
}

// A request that waits for a list is not answered after its cancellation. If the gateway stops, it is answered.
func TestRequestsWaitingForList(t *testing.T) {
	eachClient(t, func(t *testing.T, begin func(*stdioHarness), _ func(int) string, call func(int, string) string) {
		server := &actortest.Modern{Tools: []string{"a"}}
		h := openModern(t, server, Options{})
		begin(h)
		time.Sleep(time.Minute)
		h.send(call(1, "one_x"))
		h.send(call(2, "one_y"), call(3, "one_z"))
		if got := h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`); len(got) != 0 {
			t.Errorf("after the cancellation: %q", got)
		}
		h.close()
		got := strings.Join(h.received(), "\n")
		if strings.Contains(got, `"id":2`) || strings.Count(got, `"id":3`) != 1 {
			t.Errorf("at the end: %q, want a response to 3 and none to 2", got)
		}
	})
}
