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

// eachClient runs f with a client of each era; list and call are its requests.
func eachClient(t *testing.T, f func(t *testing.T, open func(*house), list func(id int) string, call func(id int, name string) string)) {
	t.Run("legacy", within(func(t *testing.T) {
		f(t, (*house).initialize, func(id int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, id)
		}, func(id int, name string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, id, name)
		})
	}))
	t.Run("modern", within(func(t *testing.T) {
		f(t, (*house).ready, func(id int) string { return modern(id, "tools/list", "{}", "") }, func(id int, name string) string {
			return modern(id, "tools/call", "{}", fmt.Sprintf(`,"name":%q,"arguments":{}`, name))
		})
	}))
}

// A server that calls its lists stale at once and tells of no change: what it adds is found by the next who asks, and lists
// are answered without waiting for it.
func TestToolsAddedWithoutAWord(t *testing.T) {
	eachClient(t, func(t *testing.T, begin func(*house), list func(int) string, call func(int, string) string) {
		server := &actortest.Modern{Tools: []string{"a"}}
		h := openModern(t, server, Options{})
		defer h.close()
		begin(h)
		time.Sleep(time.Minute)
		server.SetTools("a", "b")
		first := h.send(list(1))
		if got := toolNames(t, first[0]); !slices.Equal(got, []string{"one_a"}) {
			t.Errorf("the first list has %v, want what is known, at once", got)
		}
		time.Sleep(time.Second)
		told := slices.Contains(append(first, h.got()...), `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		if told != strings.Contains(list(1), `"method":"tools/list"}`) {
			t.Errorf("the client is told of the change: %v", told)
		}
		if got := toolNames(t, h.one(list(2))); !slices.Equal(got, []string{"one_a", "one_b"}) {
			t.Errorf("the next list has %v, want the new tool", got)
		}
		time.Sleep(time.Minute)
		server.SetTools("a", "b", "c")
		h.got()
		h.send(call(3, "one_c"))
		time.Sleep(time.Second)
		server.SetTools("a", "b", "c", "d")
		h.send(call(4, "d"), call(5, "one_nothing")) // too soon for another fetch: they wait for it
		time.Sleep(seekTime)
		var answers []string
		for _, g := range server.Received("tools/call") {
			answers = append(answers, string(g.Params.Name.Of(g.Frame.Raw)))
		}
		if !slices.Equal(answers, []string{`"c"`, `"d"`}) {
			t.Errorf("the server was called for %v, want c and d", answers)
		}
	})
}

// seekTime is in any case enough for a list to be fetched again.
const seekTime = 10 * time.Second

// Whatever clients ask for, a server is asked for its list at a bounded rate, and no request is left without an answer.
func TestLookingAgainIsBounded(t *testing.T) {
	eachClient(t, func(t *testing.T, begin func(*house), list func(int) string, call func(int, string) string) {
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
		time.Sleep(seekTime)
		count(h.got())
		if answers != 600 {
			t.Errorf("%d answers to 600 requests", answers)
		}
		if n := len(server.Received("tools/list")) - before; n < 5 || n > 20 {
			t.Errorf("the list was fetched %d times in 30 s, want one in 2 s", n)
		}
		if n := len(server.Received("tools/call")); n != 0 {
			t.Errorf("the server got %d calls of tools it has not", n)
		}
	})
}

// A server that goes while somebody waits for its list: the request is answered by what is known.
func TestAServerLostWhileItIsAskedAgain(t *testing.T) {
	eachClient(t, func(t *testing.T, begin func(*house), _ func(int) string, call func(int, string) string) {
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
		if got := h.got(); len(got) != 1 || !strings.Contains(got[0], "Tool not found: one_y") {
			t.Errorf("after the loss: %q", got)
		}
	})
}

// A server that is slow to start: calls of what it may have are to be tried again, not refused for good; and the client is told
// when it is there.
func TestCallsWhileAServerStarts(t *testing.T) {
	eachClient(t, func(t *testing.T, _ func(*house), list func(int) string, call func(int, string) string) {
		slow, quick := &actortest.Server{Tools: []string{"dig"}}, &actortest.Server{Tools: []string{"add"}}
		var up atomic.Bool
		opened := func(sink upstream.Sink) upstream.Link {
			server := slow
			if !up.Load() {
				server = &actortest.Server{IgnoreInitialize: true}
			}
			return server.Open(sink)
		}
		h := openOn(t, map[string]func(upstream.Sink) upstream.Link{"one": quick.Open, "two": opened}, "stdio", Options{}, nil)
		defer h.close()
		legacy := strings.Contains(list(1), `"id":1,"method":"tools/list"}`)
		if legacy {
			h.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
			time.Sleep(6 * time.Second)
			h.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		} else {
			time.Sleep(6 * time.Second)
		}
		h.got()
		for name, want := range map[string]string{
			"two_dig": "SERVER_UNAVAILABLE", "two:dig": "SERVER_UNAVAILABLE", "dig": "SERVER_UNAVAILABLE", "one_dig": "Tool not found", "one_add": `"result"`,
		} {
			got := h.one(call(2, name))
			if !strings.Contains(got, want) || want == "SERVER_UNAVAILABLE" && (!strings.Contains(got, `"retryable":true`) || !strings.Contains(got, "server two is starting")) {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
		up.Store(true)
		time.Sleep(5 * time.Minute) // the mute one is given up, and opened again
		if got := h.got(); legacy && !slices.Contains(got, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`) {
			t.Errorf("when it was there the client got %q, want to be told", got)
		}
		for name, want := range map[string]string{"two_dig": `"result"`, "dig": `"result"`, "two_dug": "Tool not found"} {
			if got := h.one(call(3, name)); !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
	})
}

// A client that no longer wants what it waits for gets no answer; one whose gateway stops gets one.
func TestWhoWaitsForAListIsNotForgotten(t *testing.T) {
	eachClient(t, func(t *testing.T, begin func(*house), _ func(int) string, call func(int, string) string) {
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
		got := strings.Join(h.got(), "\n")
		if strings.Contains(got, `"id":2`) || strings.Count(got, `"id":3`) != 1 {
			t.Errorf("at the end: %q, want an answer to 3 and none to 2", got)
		}
	})
}
