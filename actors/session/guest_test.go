package session

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

func newGuest(t *testing.T) *conversation {
	t.Helper()
	facts := &cluster.SessionFacts{Path: "/mcp", Version: protocol.Version20251125, Capabilities: []byte(`{"elicitation":{}}`), Info: []byte(`{"name":"c","version":"1"}`)}
	k := newConversation(t, "http")
	k.s = newState(guestOptions(facts, new(atomic.Uint64)), kernel.Reference{})
	return k
}

func guestOptions(facts *cluster.SessionFacts, used *atomic.Uint64) Options {
	return Options{ID: "session", Transport: "http", Cluster: "abcdefg2", Facts: facts, Used: used, Limits: config.Default().Limits}
}

// The calls and questions of a guest have other numbers than those of an earlier guest of its session.
func TestGuestNumbers(t *testing.T) {
	var used atomic.Uint64
	seen := map[string]bool{}
	for range 3 {
		s := &session{Options: guestOptions(&cluster.SessionFacts{}, &used)}
		s.state = newState(s.Options, kernel.Reference{})
		for range 3 {
			s.state.calls.Next()
			id := string(s.state.questionID(s.state.questions.add(question{})))
			name := s.state.CallName(s.state.calls.Next())
			if seen[id] || seen[name] {
				t.Fatalf("question %s or call %s twice", id, name)
			}
			seen[id], seen[name] = true, true
		}
		for _, a := range acts(s.state, kernel.Stopping{}) {
			if ended, is := a.(guestEnded); is {
				s.Act(kernel.Self{}, ended)
			}
		}
	}
}

// A guest knows its client from the facts, and serves requests that arrive before its first catalog once it has one, in order.
func TestGuestWaitsForCatalog(t *testing.T) {
	k := newGuest(t)
	if got := k.s.client; got.name != "c 1" || got.version != protocol.Version20251125 || !got.can.Answers(protocol.InputForm) {
		t.Errorf("client %+v", got)
	}
	ping := func(id int) message.Inbound { return k.from(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id) }
	for id := range maxGuestWaiting {
		if got := k.step(ping(id)); got != "" {
			t.Fatalf("before the catalog: %q", got)
		}
	}
	if got := k.step(ping(maxGuestWaiting)); got != "503" {
		t.Errorf("beyond the limit: %q", got)
	}
	want := strings.TrimSuffix(strings.Repeat("result, ", maxGuestWaiting), ", ")
	if got := k.step(askingServer()); got != want {
		t.Errorf("with the catalog: %q", got)
	}
	if got := k.step(ping(1)); got != "result" {
		t.Errorf("after the catalog: %q", got)
	}
	if got := k.step(k.from(callOf, 3, "ask")); got == "" {
		t.Error("the call was not sent")
	}
}

// Requests that still wait when a guest ends are answered.
func TestGuestEndsWithoutCatalog(t *testing.T) {
	k := newGuest(t)
	k.step(k.from(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if got := k.step(kernel.Stopping{}); got != "503" {
		t.Errorf("%q", got)
	}
}

// A guest is idle after a minute, or after half of limits.sessionIdle if that is shorter.
func TestGuestIdles(t *testing.T) {
	for _, limit := range []time.Duration{time.Hour, time.Second} {
		k := newGuest(t)
		k.s.limits.SessionIdle = limit
		var checked time.Duration
		for _, a := range acts(k.s, kernel.Started{}) {
			if w, is := a.(kernel.Wake); is && w.Msg == any(idleCheck{}) {
				checked = w.After
			}
		}
		if want := min(limit/2, guestIdle); checked != want {
			t.Errorf("limit %v: the first check is after %v, want %v", limit, checked, want)
		}
	}
}

// In a cluster, the id of a question names the node that asks, and only that node takes the answer.
func TestQuestionIDsInACluster(t *testing.T) {
	for _, c := range []struct{ cluster, id, other string }{{"", "7", `"abcdefg2.7"`}, {"abcdefg2", `"abcdefg2.7"`, `7`}, {"abcdefg2", `"abcdefg2.7"`, `"abcdefg3.7"`}} {
		s := &state{cluster: c.cluster}
		if got := string(s.questionID(7)); got != c.id {
			t.Errorf("cluster %q: the id is %s, want %s", c.cluster, got, c.id)
		}
		if n, ok := s.questionNumber([]byte(c.id)); n != 7 || !ok {
			t.Errorf("cluster %q: %s is question %d, %v", c.cluster, c.id, n, ok)
		}
		for _, bad := range []string{c.other, `"7"`, `""`, "null", `"abcdefg2."`, `"abcdefg2.-7"`, fmt.Sprintf("%q", c.id)} {
			if n, ok := s.questionNumber([]byte(bad)); ok {
				t.Errorf("cluster %q: %s is question %d", c.cluster, bad, n)
			}
		}
	}
}
