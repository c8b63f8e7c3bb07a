package session

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// answerOf returns the frame of the first answer that a message causes, or "".
func (k *conversation) answerOf(msg any) string {
	k.t.Helper()
	for _, a := range acts(k.s, msg) {
		if answer, is := a.(reply.Answer); is {
			return string(answer.Frame)
		}
	}
	return ""
}

// publishedServers returns a catalog of servers with these names and without items. The parameter settled is the number of
// servers that have settled, from the first one.
func publishedServers(settled int, names ...string) message.Published {
	var sources []catalog.Source
	for i, name := range names {
		source := catalog.Source{Server: &catalog.Server{Name: name, Order: i, Rules: config.DefaultServer(), Settled: i < settled, Instructions: "Instructions of " + name + "."}}
		sources = append(sources, source)
	}
	return message.Published{Snapshot: catalog.Build(nil, sources, catalog.Naming{Namespace: config.Default().Namespace, URIStyle: "original", PageSize: 10})}
}

// initialize waits until as many servers as expected have settled, but no longer than admission.StartWait.
func TestInitializeWaitsForServers(t *testing.T) {
	for _, expect := range []int{0, 1, 2} {
		for settled := range 3 {
			k := newConversation(t, "http")
			k.s = newState(Options{ID: "session", Transport: "http", Limits: config.Default().Limits, Expect: expect}, kernel.Reference{})
			waits := false
			for _, a := range acts(k.s, kernel.Started{}) {
				if w, is := a.(kernel.Wake); is && w.Msg == any(admission.StartWaitOver{}) {
					waits = w.After == admission.StartWait
				}
			}
			if waits != (expect > 0) {
				t.Errorf("expects %d servers: limits the wait: %v", expect, waits)
			}
			k.step(publishedServers(settled, "one", "two"))
			if got, want := k.step(k.from(hello)), map[bool]string{true: "result"}[settled >= expect]; got != want {
				t.Errorf("expects %d servers, %d have settled: %q, want %q", expect, settled, got, want)
			}
			if settled < expect && k.step(publishedServers(expect, "one", "two")) != "result" {
				t.Errorf("expects %d servers: not answered when they had settled", expect)
			}
		}
	}
}

// The result of initialize has the instructions of the servers, if there are any, and the gateway's node name if the
// client is a gateway. A gateway that is its own client is refused.
func TestInitializeResult(t *testing.T) {
	for name, c := range map[string]struct {
		servers    []string
		node       string
		has, lacks []string
	}{
		"a client":                  {[]string{"one"}, "", []string{`"instructions":`, "Instructions of one."}, []string{"_meta", "tasks"}},
		"without servers":           {nil, "", nil, []string{"instructions", "_meta"}},
		"another gateway":           {[]string{"one"}, "other", []string{string(protocol.NodeMember("this"))}, []string{"this gateway is among"}},
		"the gateway itself":        {[]string{"one"}, "this", []string{"this gateway is among its own servers"}, nil},
		"a gateway without servers": {nil, "other", []string{string(protocol.NodeMember("this"))}, []string{"instructions"}},
	} {
		k := newConversation(t, "http")
		k.s.node = "this"
		k.step(publishedServers(9, c.servers...))
		meta := ""
		if c.node != "" {
			meta = `,"_meta":{` + string(protocol.NodeMember(c.node)) + `}`
		}
		got := k.answerOf(k.from(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}%s}}`, meta))
		for _, want := range c.has {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s lacks %s", name, got, want)
			}
		}
		for _, other := range c.lacks {
			if strings.Contains(got, other) {
				t.Errorf("%s: %s has %s", name, got, other)
			}
		}
	}
}

// The initialize that opens a session may name its project, unless its stream has named one. Other messages cannot change
// it.
func TestProjectOfASession(t *testing.T) {
	snapshot := catalog.Build(nil, []catalog.Source{{Server: &catalog.Server{Name: "one", Settled: true}}}, catalog.Naming{PageSize: 10},
		config.Project{Name: "alpha", Servers: []string{"one"}}, config.Project{Name: "beta", Servers: []string{"one"}})
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for name, c := range map[string]struct {
		before []string // messages without a project
		first  string   // the message that names alpha
		opened string   // the project of the session's stream
		want   string
	}{
		"initialize names it":        {nil, hello, "", "alpha"},
		"only after initialize":      {[]string{hello}, ping, "", ""},
		"before initialize":          {nil, ping, "", ""},
		"the stream has named alpha": {nil, hello, "alpha", "alpha"},
		"the stream has named beta":  {nil, hello, "beta", "beta"},
	} {
		k := newConversation(t, "http")
		k.s.catalog.key.Project = c.opened
		k.step(message.Published{Snapshot: snapshot})
		for _, line := range c.before {
			k.step(k.from("%s", line))
		}
		m := k.from("%s", c.first)
		m.View.Project = "alpha"
		k.step(m)
		if k.s.catalog.key.Project != c.want {
			t.Errorf("%s: project %q, want %q", name, k.s.catalog.key.Project, c.want)
		}
	}
	k := newConversation(t, "http") // initialize waits for the catalog
	first, second := k.from(hello), k.from(hello)
	first.View.Project, second.View.Project = "alpha", "beta"
	k.step(first)
	k.step(second)
	if k.s.catalog.key.Project != "alpha" {
		t.Errorf("a second initialize changed the project to %q", k.s.catalog.key.Project)
	}
	k = newConversation(t, "http")
	batch := k.from(hello)
	batch.View.Project, batch.Exchange.Batch = "alpha", []byte("["+hello+"]")
	if k.step(batch); k.s.catalog.key.Project != "" {
		t.Error("a batch has set the project")
	}
}

// If the client can see nothing, initialize is refused and the session ends. Only the client on stdin and stdout may try again.
func TestInitializeWithoutAView(t *testing.T) {
	for transport, want := range map[string]string{"http": "200, leaves", "stdio": "200"} {
		for _, early := range []bool{false, true} {
			k := newConversation(t, transport)
			k.s.catalog.key.Project = "unknown"
			got := ""
			if early {
				k.step(k.from(hello))
				got = k.step(publishedServers(1, "one"))
			} else {
				k.step(publishedServers(1, "one"))
				got = k.step(k.from(hello))
			}
			if got != want {
				t.Errorf("%s, initialize waits %v: %q, want %q", transport, early, got, want)
			}
		}
	}
}

// A session of one server ends when the server is removed. Before initialize, only a session of HTTP+SSE ends at once.
func TestServerOfASessionIsRemoved(t *testing.T) {
	for name, c := range map[string]struct {
		transport   string
		initialized bool
		want        bool
	}{"initialized": {"http", true, true}, "not initialized": {"http", false, false}, "with a stream": {"sse", false, true}, "stdio": {"stdio", true, true}} {
		k := newConversation(t, c.transport)
		k.s.catalog.key.Server = "one"
		k.step(publishedServers(2, "one", "two"))
		k.s.client.initialized = c.initialized
		if left := strings.Contains(k.step(publishedServers(1, "two")), "leaves"); left != c.want {
			t.Errorf("%s: ended %v, want %v", name, left, c.want)
		}
	}
}

// If no servers are expected, a new session over HTTP starts a timer for its idle time. A session of HTTP+SSE also starts one
// for initialize. A session on stdin and stdout starts none.
func TestTimersOfANewSession(t *testing.T) {
	for transport, want := range map[string][]any{"http": {idleCheck{}}, "stdio": nil, "sse": {idleCheck{}, openTimeout{}}} {
		s := newState(Options{Transport: transport, Limits: config.Limits{SessionIdle: time.Hour}}, kernel.Reference{})
		var timers []any
		for _, a := range acts(s, kernel.Started{}) {
			if w, is := a.(kernel.Wake); is {
				timers = append(timers, w.Msg)
				if after := map[any]time.Duration{idleCheck{}: time.Hour, openTimeout{}: time.Minute}[w.Msg]; w.After != after {
					t.Errorf("%s: %T after %v, want %v", transport, w.Msg, w.After, after)
				}
			}
		}
		if !slices.Equal(timers, want) {
			t.Errorf("%s: timers %v, want %v", transport, timers, want)
		}
	}
}

// A session ends exactly limits.sessionIdle after its client's last message, unless it has a stream or a call. Then it is checked
// again later.
func TestIdleSessions(t *testing.T) {
	const idle = time.Hour
	for name, c := range map[string]struct {
		after  time.Duration
		stream bool
		call   bool
		want   time.Duration // until the next check; 0 = it ends
	}{
		"in time":           {idle - 1, false, false, 1},
		"idle":              {idle, false, false, 0},
		"long idle":         {3 * idle, false, false, 0},
		"a stream":          {idle, true, false, idle},
		"a stream, in time": {idle - time.Minute, true, false, time.Minute},
		"a call":            {2 * idle, false, true, idle},
	} {
		k := newTaskScript(t)
		k.s.limits.SessionIdle, k.s.life.lastSeen = idle, time.Unix(1000, 0).Add(-c.after)
		if c.stream {
			k.s.streams = []*downstream.EventStream{{}}
		}
		if c.call {
			k.s.calls.Hold(time.Unix(1000, 0), &heldCall{}, nil)
		}
		list := acts(k.s, idleCheck{})
		if c.want == 0 {
			if !has[kernel.SelfStop](list) || has[kernel.Wake](list) {
				t.Errorf("%s: %v, want the session to end", name, list)
			}
			continue
		}
		if w := one[kernel.Wake](t, list); w.After != c.want || w.Msg != any(idleCheck{}) || has[kernel.SelfStop](list) {
			t.Errorf("%s: %v, want a check after %v", name, list, c.want)
		}
	}
}

// A session reports since when it is idle, and whether it has calls and streams. Its answer has the number of the survey.
func TestQueryIdleSince(t *testing.T) {
	for _, c := range []struct{ calls, streams bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		k := newTaskScript(t)
		k.s.life.lastSeen = time.Unix(7, 0)
		if c.streams {
			k.s.streams = []*downstream.EventStream{{}}
		}
		if c.calls {
			k.s.calls.Hold(time.Unix(1000, 0), &heldCall{}, nil)
		}
		out := k.step(message.QueryIdleSince{Survey: 3})
		if got, is := out[0].Msg.(message.IdleSince); !is || got.Survey != 3 || got.Calls != c.calls || got.Streams != c.streams || got.At != time.Unix(7, 0) {
			t.Errorf("%+v: reported %+v", c, out[0].Msg)
		}
		for _, streamsMayEnd := range []bool{false, true} {
			ends := false
			for _, a := range acts(k.s, message.CloseIfIdle{Streams: streamsMayEnd}) {
				_, stops := a.(kernel.SelfStop)
				ends = ends || stops
			}
			if want := !c.calls && (!c.streams || streamsMayEnd); ends != want {
				t.Errorf("%+v, streams may end %v: ends %v, want %v", c, streamsMayEnd, ends, want)
			}
		}
	}
}

// A method that the gateway does not know is sent to the only server in view. With several servers it is unknown.
func TestMethodsOfTheOnlyServer(t *testing.T) {
	for name, c := range map[string]struct {
		servers []string
		method  string
		want    string
	}{
		"one server":             {[]string{"one"}, "custom/thing", "dispatched"},
		"two servers":            {[]string{"one", "two"}, "custom/thing", "METHOD_NOT_FOUND"},
		"none":                   {nil, "custom/thing", "METHOD_NOT_FOUND"},
		"a known modern method":  {[]string{"one"}, "server/discover", "METHOD_NOT_FOUND"},
		"a method of the client": {[]string{"one"}, "roots/list", "METHOD_NOT_FOUND"},
	} {
		k := newConversation(t, "http")
		k.step(publishedServers(9, c.servers...))
		k.step(k.from(hello))
		if got := k.step(k.from(`{"jsonrpc":"2.0","id":1,"method":%q}`, c.method)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// When a client gets the first page of a list that changes silently, the server's pool is notified. Further pages do
// not notify it.
func TestListServedOnce(t *testing.T) {
	source := catalog.Source{Server: &catalog.Server{Name: "one", Rules: config.DefaultServer(), Settled: true}}
	for i := range 15 {
		source.Items[protocol.Resources] = append(source.Items[protocol.Resources], fmt.Appendf(nil, `{"uri":"file:///%d","name":"r"}`, i))
	}
	source.Silent[protocol.Resources] = true
	k := newConversation(t, "http")
	k.step(message.Published{Snapshot: catalog.Build(nil, []catalog.Source{source}, catalog.Naming{Namespace: config.Default().Namespace, URIStyle: "original", PageSize: 10})})
	k.step(k.from(hello))
	list := func(params string) (answer string, served int) {
		for _, e := range step(k.s, time.Unix(1000, 0), k.from(`{"jsonrpc":"2.0","id":1,"method":"resources/list"%s}`, params), nil) {
			if _, is := e.Msg.(message.ListServed); is {
				served++
			}
			if a, is := e.Act.(reply.Answer); is {
				answer = string(a.Frame)
			}
		}
		return answer, served
	}
	first, served := list("")
	if strings.Count(first, `"uri"`) != 10 || served != 1 {
		t.Errorf("first page: %d items, the pool was notified %d times; want 10 and 1", strings.Count(first, `"uri"`), served)
	}
	_, cursor, _ := strings.Cut(first, `"nextCursor":`)
	cursor = cursor[:strings.Index(cursor[1:], `"`)+2]
	second, served := list(`,"params":{"cursor":` + cursor + `}`)
	if strings.Count(second, `"uri"`) != 5 || served != 0 {
		t.Errorf("second page: %d items, the pool was notified %d times; want 5 and 0", strings.Count(second, `"uri"`), served)
	}
}

// A result of any size is sent unchanged, whether it is copied or not.
func TestLargeResults(t *testing.T) {
	k := newConversation(t, "http")
	for _, size := range []int{2, reply.LargeFrame - 1, reply.LargeFrame, reply.LargeFrame + 1} {
		result := append(append([]byte{'"'}, bytes.Repeat([]byte{'x'}, size-2)...), '"')
		x := k.from(`{"jsonrpc":"2.0","id":7,"method":"ping"}`).Exchange
		want := string(protocol.AppendResult(nil, []byte("7"), result))
		switch a := k.s.result(x, result, nil)[0].Act.(type) {
		case reply.Answer:
			if string(a.Frame) != want || size >= reply.LargeFrame {
				t.Errorf("%d bytes: copied, %d bytes", size, len(a.Frame))
			}
		case reply.AnswerPieces:
			if got := string(bytes.Join(a.Pieces, nil)); got != want || size < reply.LargeFrame {
				t.Errorf("%d bytes: in pieces, %d bytes", size, len(got))
			}
		}
	}
}
