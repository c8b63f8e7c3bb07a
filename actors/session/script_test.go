package session

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/edge"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// sessionScript has a session take messages, says what came of each, and keeps the books of what must hold.
type sessionScript struct {
	t   *testing.T
	s   *state
	now time.Time

	exchanges []*downstream.Exchange
	ends      map[*downstream.Exchange]int // how often each was ended: with an answer, a refusal, or accepted
	running   []uint64                     // calls that were handed to a pool
	over      map[uint64]bool              // of these, those that the pool has ended, or was told to give up
	asked     map[uint64]bool              // questions of servers, by their numbers
	replied   map[uint64]int               // answers to them
	put       []string                     // ids of the questions put to the client
	timers    []any
	left      bool
}

func newSessionScript(t *testing.T, transport string) *sessionScript {
	t.Helper()
	limits := config.Default().Limits
	limits.MaxInFlightPerClient, limits.ParkedPerClient = 4, 2
	return &sessionScript{t: t, s: newState(Options{ID: "session", Transport: transport, Version: "t", Limits: limits}, kernel.Reference{}), now: time.Unix(1000, 0),
		ends: map[*downstream.Exchange]int{}, over: map[uint64]bool{}, asked: map[uint64]bool{}, replied: map[uint64]int{}}
}

// askingServer is a catalog of one server with one tool.
func askingServer() message.Published {
	source := catalog.Source{Server: &catalog.Server{Name: "one", Rules: config.DefaultServer(), Settled: true}}
	source.Items[protocol.Tools] = [][]byte{[]byte(`{"name":"ask","inputSchema":{"type":"object"}}`)}
	naming := catalog.Naming{Namespace: config.Default().Namespace, URIStyle: "prefix", PageSize: 10}
	return message.Published{Snapshot: catalog.Build(nil, []catalog.Source{source}, naming, [protocol.ItemKinds]bool{})}
}

const (
	hello  = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`
	callOf = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{},"_meta":{"progressToken":7}}}`
	asking = `{"jsonrpc":"2.0","id":"b","method":%q,"params":{"message":"?","requestedSchema":{}}}`
	done   = `{"jsonrpc":"2.0","id":5,"result":{"content":[]}}`
)

// from is a message of the client.
func (k *sessionScript) from(format string, args ...any) message.Inbound {
	k.t.Helper()
	x := &downstream.Exchange{Origin: downstream.Origin{Path: "/mcp"}}
	x.Frame = actortest.Frame(k.t, fmt.Sprintf(format, args...))
	if x.Frame.Kind == protocol.KindRequest || x.Frame.Kind == protocol.KindNotification {
		x.Frame, x.Params = actortest.Request(k.t, string(x.Frame.Raw))
	}
	k.exchanges = append(k.exchanges, x)
	return message.Inbound{Exchange: x}
}

// step returns what came of a message, in words.
func (k *sessionScript) step(msg any) string {
	k.t.Helper()
	var words []string
	say := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	switch m := msg.(type) {
	case message.Ask:
		k.asked[m.Key] = true
	case message.Done:
		k.over[m.Seq] = true
	case message.Failed:
		k.over[m.Seq] = true
	}
	for _, e := range step(k.s, k.now, msg, nil) {
		switch a := e.Act.(type) {
		case edge.Answer:
			k.end(a.X)
			say("%s", k.judge(a))
		case edge.Accept:
			k.end(a.X)
			say("accepted")
		case refuse:
			k.end(a.x)
			say("%d", a.status)
		case edge.Ahead:
			say("%s", k.ahead(a))
		case kernel.Wake:
			k.timers = append(k.timers, a.Msg)
		case kernel.Leaving:
			k.left = true
			say("leaves")
		}
		switch m := e.Msg.(type) {
		case message.Dispatch:
			k.running = append(k.running, m.Call.Seq)
			say("dispatched")
		case message.Cancel:
			k.over[m.Call.Seq] = true
			say("cancelled")
		case message.Answer:
			if k.replied[m.Key]++; !k.asked[m.Key] || k.replied[m.Key] > 1 {
				k.t.Fatalf("question %d: answer number %d", m.Key, k.replied[m.Key])
			}
			say("replied")
		}
	}
	if len(k.s.calls) > k.s.limits.MaxInFlightPerClient || k.s.parked() > k.s.limits.ParkedPerClient {
		k.t.Fatalf("%d calls, %d parked", len(k.s.calls), k.s.parked())
	}
	return strings.Join(words, ", ")
}

func (k *sessionScript) end(x *downstream.Exchange) {
	k.t.Helper()
	if k.ends[x]++; k.ends[x] > 1 {
		k.t.Fatalf("%s was ended twice", x.Frame.Raw)
	}
}

// judge looks at an answer and says what kind it is.
func (k *sessionScript) judge(a edge.Answer) string {
	k.t.Helper()
	f := actortest.Frame(k.t, string(a.Frame))
	if string(f.IDBytes()) != string(a.X.Frame.IDBytes()) {
		k.t.Fatalf("answer %s to request %s", a.Frame, a.X.Frame.Raw)
	}
	if f.Kind == protocol.KindError {
		var body struct {
			Code int
			Data struct{ Code string }
		}
		if err := json.Unmarshal(f.ErrorBytes(), &body); err != nil {
			k.t.Fatal(err)
		}
		return cmp.Or(body.Data.Code, fmt.Sprint(body.Code))
	}
	return "result"
}

// ahead looks at a message before the answer and says what it is.
func (k *sessionScript) ahead(a edge.Ahead) string {
	k.t.Helper()
	if k.ends[a.X] > 0 {
		k.t.Fatalf("%s after %s was answered", a.Frame, a.X.Frame.Raw)
	}
	f := actortest.Frame(k.t, string(a.Frame))
	if f.Kind == protocol.KindRequest {
		k.put = append(k.put, string(f.IDBytes()))
	}
	return f.MethodText()
}

// random has one thing happen.
func (k *sessionScript) random(rng *rand.Rand) {
	seq := uint64(0)
	if len(k.running) > 0 {
		seq = k.running[rng.IntN(len(k.running))]
	}
	number := len(k.exchanges)
	switch rng.IntN(17) {
	case 0, 1, 2:
		k.step(k.from(callOf, number, "one_ask"))
	case 3:
		k.step(k.from(callOf, rng.IntN(number+1), "one_ask")) // an id that may be in use
	case 4:
		k.step(k.from(callOf, number, "one_nothing"))
	case 5:
		k.step(k.from(`{"jsonrpc":"2.0","id":%d,"method":"%s"}`, number, []string{"ping", "tools/list", "tasks/list", "no/such"}[rng.IntN(4)]))
	case 6:
		k.step(k.from(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, rng.IntN(number+1)))
	case 7, 8, 9:
		method := []string{"elicitation/create", "elicitation/create", "sampling/createMessage"}[rng.IntN(3)]
		k.step(message.Ask{Seq: seq, Key: uint64(len(k.asked) + 1), Frame: actortest.Frame(k.t, fmt.Sprintf(asking, method))})
	case 10:
		id := "99"
		if len(k.put) > 0 {
			id = k.put[rng.IntN(len(k.put))] // maybe for the second time
		}
		k.step(k.from(`{"jsonrpc":"2.0","id":%s,"result":{"action":"decline"}}`, id))
	case 11:
		k.step(message.AskWithdrawn{Seq: seq, Key: uint64(rng.IntN(len(k.asked) + 1))}) // maybe of another call
	case 12:
		k.step(message.Written{Seq: seq})
	case 13:
		k.step(message.Done{Seq: seq, Frame: actortest.Frame(k.t, done)})
	case 14:
		k.step(message.Failed{Seq: seq, Fault: &protocol.Fault{Name: protocol.BackendDisconnected, Message: "x"}})
	case 15:
		k.now = k.now.Add(time.Duration(rng.IntN(8)) * time.Minute)
	case 16:
		for _, msg := range k.timers {
			k.step(msg)
		}
		k.timers = k.timers[:0]
	}
}

// Whatever happens in whatever order: each exchange is ended once, each request under its own id and nothing told on it
// afterwards; a question is answered at most once; a call that has ended is no pool's any more; the limits hold;
// and nothing is left in the books.
func TestSessionScripts(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 5))
		k := newSessionScript(t, []string{"http", "stdio", "sse"}[seed%3])
		k.step(askingServer())
		k.step(k.from(hello))
		for range 120 {
			k.random(rng)
		}
		if seed%2 == 0 {
			k.step(message.DrainSession{})
		}
		k.step(kernel.Stopping{})
		for _, x := range k.exchanges {
			if k.ends[x] == 0 {
				t.Fatalf("seed %d: %s was never answered", seed, x.Frame.Raw)
			}
		}
		for _, seq := range k.running {
			if !k.over[seq] {
				t.Fatalf("seed %d: call %d is still its pool's", seed, seq)
			}
		}
		if s := k.s; len(s.calls)+len(s.byID)+len(s.questions)+len(s.wait) > 0 {
			t.Fatalf("seed %d: %d calls, %d ids, %d questions, %d waiting after the stop", seed, len(s.calls), len(s.byID), len(s.questions), len(s.wait))
		}
	}
}

// The step of a session, one conversation a line: what comes of its last message.
func TestSessionStep(t *testing.T) {
	type script = *sessionScript
	say := func(format string, args ...any) func(script) any {
		return func(k script) any { return k.from(format, args...) }
	}
	tell := func(msg any) func(script) any { return func(script) any { return msg } }
	published := tell(askingServer())
	ask := func(key uint64, method string) func(script) any {
		return func(k script) any {
			return message.Ask{Seq: 1, Key: key, Frame: actortest.Frame(k.t, fmt.Sprintf(asking, method))}
		}
	}
	reply := say(`{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}`)
	cancel := say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	call, ping := say(callOf, 1, "one_ask"), say(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	answer := func(k script) any { return message.Done{Seq: 1, Frame: actortest.Frame(k.t, done)} }
	elsewhere := func(k script) any {
		m := k.from(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		m.Exchange.Origin.Path = "/s/other"
		return m
	}
	open := []func(script) any{published, say(hello)}
	called := append(open[:2:2], call)
	parked := append(called[:3:3], ask(1, "elicitation/create"))
	for _, test := range []struct {
		name, transport string
		before          []func(script) any
		last            func(script) any
		want            string
	}{
		{"initialize", "http", open[:1], say(hello), "result"},
		{"initialize before there is a catalog", "http", nil, say(hello), ""},
		{"which then comes", "http", []func(script) any{say(hello)}, published, "result"},
		{"initialize twice while it waits", "http", []func(script) any{say(hello)}, say(hello), "400"},
		{"initialize twice", "http", open, say(hello), "400"},
		{"initialize without a version", "http", open[:1], say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`), "200, leaves"},
		{"likewise over stdio", "stdio", open[:1], say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`), "INVALID_PARAMS"},
		{"ping before initialize", "http", nil, ping, "result"},
		{"a call before initialize", "http", open[:1], call, "400"},
		{"on another path", "http", open, elsewhere, "404"},
		{"a method nobody has", "http", open, say(`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`), "METHOD_NOT_FOUND"},
		{"a call", "http", open, call, "dispatched"},
		{"a call of an unknown tool", "http", open, say(callOf, 1, "two_ask"), "TOOL_NOT_FOUND"},
		{"an id in use", "http", called, call, "400"},
		{"its answer", "http", called, answer, "result"},
		{"its answer, twice", "http", append(called[:3:3], answer), answer, ""},
		{"cancelled over HTTP", "http", called, cancel, "accepted, cancelled, CANCELLED"},
		{"cancelled over stdio", "stdio", called, cancel, "accepted, cancelled, accepted"},
		{"cancelled when it is over", "http", append(called[:3:3], answer), cancel, "accepted"},
		{"a question", "http", called, ask(1, "elicitation/create"), "elicitation/create"},
		{"a question the client cannot answer", "http", called, ask(1, "sampling/createMessage"), "replied"},
		{"a question of a call that is over", "http", append(called[:3:3], answer), ask(1, "elicitation/create"), "replied"},
		{"its reply", "http", parked, reply, "accepted, replied"},
		{"its reply, twice", "http", append(parked[:4:4], reply), reply, "accepted"},
		{"the call ends before the reply", "http", parked, answer, "notifications/cancelled, result"},
		{"a reply that comes after that", "http", append(parked[:4:4], answer), reply, "accepted"},
		{"the question is withdrawn", "http", parked, tell(message.AskWithdrawn{Seq: 1, Key: 1}), "notifications/cancelled"},
		{"drained, nothing runs", "http", open, tell(message.DrainSession{}), "leaves"},
		{"drained, a call runs", "http", called, tell(message.DrainSession{}), ""},
		{"which then ends", "http", append(called[:3:3], tell(message.DrainSession{})), answer, "result, leaves"},
		{"a call while it drains", "http", append(called[:3:3], tell(message.DrainSession{})), say(callOf, 2, "one_ask"), "SHUTTING_DOWN"},
		{"an operator ends a call", "http", called, tell(message.Abort{Seq: 1}), "cancelled, INTERNAL_ERROR"},
		{"stopped while a call waits for a reply", "http", parked, tell(kernel.Stopping{}), "cancelled, notifications/cancelled, SHUTTING_DOWN"},
		{"nobody uses it", "http", open, tell(message.CloseIfIdle{}), "leaves"},
		{"somebody does", "http", called, tell(message.CloseIfIdle{}), ""},
		{"of HTTP+SSE, never initialized", "sse", open[:1], tell(openOver{}), "leaves"},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := newSessionScript(t, test.transport)
			for _, msg := range test.before {
				k.step(msg(k))
			}
			if got := k.step(test.last(k)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
