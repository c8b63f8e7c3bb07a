package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// asks returns a server's request about a call.
func (k *conversation) asks(seq, key uint64, method string) message.ServerRequest {
	return message.ServerRequest{Seq: seq, Key: key, Frame: actortest.Frame(k.t, fmt.Sprintf(asking, method))}
}

// replies returns the answers to servers that a message causes.
func (k *conversation) replies(msg any) (list []message.ServerRequestResult) {
	for _, e := range step(k.s, time.Unix(1000, 0), msg, nil) {
		if m, is := e.Msg.(message.ServerRequestResult); is {
			list = append(list, m)
		}
	}
	return list
}

// opened returns an open session with the given number of calls. Its client answers elicitations and lists roots.
func opened(t *testing.T, calls int) *conversation {
	k := newConversation(t, "http")
	k.step(askingServer())
	k.step(k.from("%s", strings.Replace(hello, `"elicitation":{}`, `"elicitation":{},"roots":{}`, 1)))
	for i := range calls {
		k.step(k.from(callOf, i+1, "one_ask"))
	}
	return k
}

// A server's request that the client cannot answer, or that exceeds limits.parkedPerClient, is refused, and the client
// does not see it. A further request of a call that already waits is not refused.
func TestRefusedQuestions(t *testing.T) {
	for name, c := range map[string]struct {
		method   string
		jsonOnly bool
		limit    int // limits.parkedPerClient; 0 = none
		code     string
	}{
		"supported":                {"elicitation/create", false, 0, ""},
		"not declared":             {"sampling/createMessage", false, 0, `"code":-32602`},
		"no event stream":          {"elicitation/create", true, 0, `"code":-32602`},
		"limit is not reached":     {"elicitation/create", false, 3, ""},
		"as many wait as may wait": {"elicitation/create", false, 2, `"code":-1,`},
	} {
		k := opened(t, 3)
		k.s.limits.ParkedPerClient = 99
		k.step(k.asks(1, 1, "elicitation/create"))
		k.step(k.asks(2, 2, "elicitation/create"))
		k.s.limits.ParkedPerClient = c.limit
		k.s.calls.Held(3).x.Origin.JSONOnly = c.jsonOnly
		before := len(k.s.questions.open)
		got := k.replies(k.asks(3, 3, c.method))
		if c.code == "" && (len(got) != 0 || len(k.s.questions.open) != before+1) || c.code != "" && (len(got) != 1 || !strings.Contains(string(got[0].Error), c.code) || len(k.s.questions.open) != before) {
			t.Errorf("%s: answered %+v, %d questions are open", name, got, len(k.s.questions.open))
		}
		if got := k.replies(k.asks(1, 4, "elicitation/create")); len(got) != 0 {
			t.Errorf("%s: a second question of a call that already waits was refused: %+v", name, got)
		}
	}
}

// The server that asked gets the client's result or error. Answers with other ids are dropped.
func TestAnswersToQuestions(t *testing.T) {
	k := opened(t, 1)
	for key, c := range []struct{ sent, result, err string }{
		{`"result":{"action":"accept"}`, `{"action":"accept"}`, ""},
		{`"error":{"code":-1,"message":"no"}`, "", `{"code":-1,"message":"no"}`},
	} {
		k.step(k.asks(1, uint64(key), "elicitation/create"))
		got := k.replies(k.from(`{"jsonrpc":"2.0","id":%d,%s}`, key+1, c.sent))
		if len(got) != 1 || got[0].Key != uint64(key) || string(got[0].Result) != c.result || string(got[0].Error) != c.err {
			t.Errorf("sent %s, the server got %+v", c.sent, got)
		}
	}
	for _, id := range []string{"99", `"1"`, "-1"} {
		if got := k.replies(k.from(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id)); len(got) != 0 {
			t.Errorf("an answer with id %s was sent to %v", id, got)
		}
	}
}

// A call counts as parked until its question is answered or withdrawn.
func TestParkedCallsAreCounted(t *testing.T) {
	k := opened(t, 2)
	counts := func(when string, want int) {
		t.Helper()
		if n := k.s.countParked(); n != want {
			t.Errorf("%s: %d calls wait for the client, want %d", when, n, want)
		}
	}
	counts("before", 0)
	k.step(k.asks(1, 1, "elicitation/create"))
	k.step(k.asks(2, 2, "elicitation/create"))
	counts("both ask", 2)
	k.step(k.from(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	counts("one is answered", 1)
	k.step(message.ServerRequestCanceled{Seq: 2, Key: 9})
	counts("an unknown question is withdrawn", 1)
	if got := k.step(message.ServerRequestCanceled{Seq: 2, Key: 2}); got != "notifications/cancelled" {
		t.Errorf("a canceled question: %q", got)
	}
	counts("the other is withdrawn", 0)
}

// The client learns why its answer is no longer wanted.
func TestReasonOfAWithdrawnQuestion(t *testing.T) {
	for want, msg := range map[string]any{
		"the server has withdrawn its request": message.ServerRequestCanceled{Seq: 1, Key: 1},
		"the call has ended":                   message.Done{Seq: 1, Frame: actortest.Frame(t, `{"jsonrpc":"2.0","id":1,"result":{}}`)},
	} {
		k := opened(t, 1)
		k.step(k.asks(1, 1, "elicitation/create"))
		var told []string
		for _, e := range step(k.s, time.Unix(1000, 0), msg, nil) {
			if n, ok := e.Act.(reply.Notify); ok {
				told = append(told, string(n.Frame))
			}
		}
		if len(told) != 1 || !strings.Contains(told[0], `"reason":"`+want+`"`) {
			t.Errorf("%T: told the client %q, want the reason %q", msg, told, want)
		}
	}
}

// When the client's roots change, exactly the servers that have asked for them are notified.
func TestRootsChangedReachesServersThatAsked(t *testing.T) {
	k := opened(t, 1)
	changed := func() (n int) {
		for _, e := range step(k.s, time.Unix(1000, 0), k.from(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`), nil) {
			if m, is := e.Msg.(message.RootsChanged); is && m.Client == k.s.id {
				n++
			}
		}
		return n
	}
	k.step(k.asks(1, 1, "elicitation/create"))
	if n := changed(); n != 0 {
		t.Errorf("%d servers that did not ask were notified", n)
	}
	k.step(k.asks(1, 2, "roots/list"))
	if n := changed(); n != 1 {
		t.Errorf("%d servers were notified, want the one that asked", n)
	}
}

// Of several requests that wait for a list, only the one that the client names is canceled.
func TestCancelOfAWaitingRequest(t *testing.T) {
	k := opened(t, 0)
	for id := range 3 {
		k.step(k.from(`{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"file:///x%d"}}`, id, id))
	}
	answered := func(msg any) (ids []string) {
		for _, a := range acts(k.s, msg) {
			if answer, is := a.(reply.Answer); is {
				f := actortest.Frame(t, string(answer.Frame))
				ids = append(ids, string(f.IDBytes()))
			}
		}
		return ids
	}
	if ids := answered(k.from(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)); !slices.Equal(ids, []string{"1"}) {
		t.Errorf("answered %v, want 1", ids)
	}
	if ids := answered(k.from(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)); len(ids) != 0 {
		t.Errorf("an unknown request was answered: %v", ids)
	}
	if n := len(k.s.calls.Waiting()); n != 2 {
		t.Errorf("%d requests wait, want 2", n)
	}
}

// A log line reaches the client if it is at least as severe as the client's level. A line without a level, or with
// an unknown one, always does. A line whose level is not a string does only if the client's level is debug or not set.
func TestLevelOfLogLines(t *testing.T) {
	line := func(level string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":%s,"data":1}}`, level)
	}
	lines := []string{line(`"debug"`), line(`"warning"`), line(`"error"`), line(`"loud"`), line("7"), `{"jsonrpc":"2.0","method":"notifications/message"}`}
	for level, want := range map[protocol.Level]string{
		protocol.LevelNone: "yyyyyy", protocol.LevelDebug: "yyyyyy", protocol.LevelWarning: "nyyyny", protocol.LevelError: "nnyyny",
	} {
		k := opened(t, 0)
		k.s.client.level, k.s.client.ready = level, true
		k.s.streams = []*downstream.EventStream{{}}
		got := ""
		for _, line := range lines {
			got += map[bool]string{true: "y", false: "n"}[has[push](acts(k.s, message.ServerLog{Server: "one", Frame: actortest.Frame(t, line)}))]
		}
		if got != want {
			t.Errorf("level %v: %s, want %s", level, got, want)
		}
	}
}

// A log line that belongs to no call is sent only to an initialized client with a stream, and only if its server is in
// view.
func TestWhichClientsGetLogLines(t *testing.T) {
	line := actortest.Frame(t, logLines[0])
	for name, c := range map[string]struct {
		change func(*state)
		server string
		want   bool
	}{
		"ready":          {func(*state) {}, "one", true},
		"another server": {func(*state) {}, "two", false},
		"no stream":      {func(s *state) { s.streams = nil }, "one", false},
		"not ready":      {func(s *state) { s.client.ready = false }, "one", false},
		"no catalog":     {func(s *state) { s.catalog.view = nil }, "one", false},
	} {
		k := opened(t, 0)
		k.s.client.ready, k.s.streams = true, []*downstream.EventStream{{}}
		c.change(k.s)
		if got := has[push](acts(k.s, message.ServerLog{Server: c.server, Frame: line})); got != c.want {
			t.Errorf("%s: sent %v, want %v", name, got, c.want)
		}
	}
}

// A session has at most maxStreams streams. A closed stream makes room, and the others stay.
func TestStreamsOfASession(t *testing.T) {
	k := opened(t, 0)
	var streams []*downstream.EventStream
	open := func() int {
		stream := &downstream.EventStream{Origin: downstream.Origin{Path: "/mcp"}}
		a := one[openStream](t, acts(k.s, message.StreamOpened{Stream: stream}))
		if a.refusal == 0 {
			streams = append(streams, stream)
		}
		return a.refusal
	}
	for i := range maxStreams {
		if refusal := open(); refusal != 0 {
			t.Errorf("stream %d was refused with %d", i+1, refusal)
		}
	}
	if refusal := open(); refusal != 429 {
		t.Errorf("stream %d: %d, want 429", maxStreams+1, refusal)
	}
	k.step(message.StreamClosed{Stream: streams[2]})
	if want := slices.Delete(slices.Clone(streams), 2, 3); !slices.Equal(k.s.streams, want) {
		t.Error("another stream than the closed one was removed")
	}
	if refusal := open(); refusal != 0 {
		t.Errorf("after one was closed: refused with %d", refusal)
	}
}

// A message about principals is applied if it has the same epoch as the session's principal or a later one, and is
// otherwise ignored.
func TestPrincipalsOfTheSameEpoch(t *testing.T) {
	for epoch, want := range map[uint64]bool{6: false, 7: true, 8: true} {
		s := ofAlice(t, key("alice", nil))
		if ended := has[kernel.SelfStop](acts(s, message.Principals{Newest: nil, Epoch: epoch})); ended {
			t.Errorf("epoch %d: ended although the principals are not known", epoch)
		}
		m := message.Principals{Epoch: epoch}
		m.Newest = map[string]*identity.Principal{}
		if ended := has[kernel.SelfStop](acts(s, m)); ended != want {
			t.Errorf("epoch %d: alice no longer exists, the session ended: %v, want %v", epoch, ended, want)
		}
	}
}
