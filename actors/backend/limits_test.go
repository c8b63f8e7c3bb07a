package backend

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// A jittered pause is random between half of the pause and the whole, and both ends occur.
func TestJitter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for d, ends := range map[time.Duration][2]time.Duration{0: {0, 0}, 1: {1, 1}, 2: {1, 2}, 3: {1, 2}, 10: {5, 10}, -1: {-1, -1}} {
		seen := map[time.Duration]bool{}
		for range 500 {
			got := jitter(r, d)
			if seen[got] = true; got < ends[0] || got > ends[1] {
				t.Errorf("jitter(%d) = %d, want %d to %d", d, got, ends[0], ends[1])
			}
		}
		if !seen[ends[0]] || !seen[ends[1]] {
			t.Errorf("jitter(%d): only %v occur", d, seen)
		}
	}
}

// The pause after a failure doubles from reconnect.min to reconnect.max, and is never shorter than reconnect.min. It is at most
// longestHopPause if another node runs the server.
func TestBackoff(t *testing.T) {
	for _, c := range []struct {
		min, max time.Duration
		want     []time.Duration // after 1, 2, … failures
	}{
		{time.Second, 10 * time.Second, []time.Duration{1, 2, 4, 8, 10, 10}},
		{time.Second, 8 * time.Second, []time.Duration{1, 2, 4, 8, 8}},
		{5 * time.Second, time.Second, []time.Duration{5, 5}},
		{time.Second, time.Second, []time.Duration{1, 1}},
	} {
		s := &state{server: config.Server{Reconnect: config.Reconnect{Min: c.min, Max: c.max}}}
		for i, want := range c.want {
			if got := s.backoff(i + 1); got != want*time.Second {
				t.Errorf("min %v, max %v, %d failures: %v, want %v", c.min, c.max, i+1, got, want*time.Second)
			}
			s.server.Hop = "b"
			if got := s.backoff(i + 1); got != longestHopPause {
				t.Errorf("a server of another node, %d failures: %v, want %v", i+1, got, longestHopPause)
			}
			s.server.Hop = ""
		}
	}
}

// Ids of requests come back as numbers or, from some servers, as strings. Nothing else is an id.
func TestParseID(t *testing.T) {
	for raw, want := range map[string]uint32{
		"1": 1, "0": 0, `"7"`: 7, "2147483647": maxID, `"2147483647"`: maxID, "0000000012": 12,
	} {
		if got, ok := parseID([]byte(raw)); !ok || got != want {
			t.Errorf("%s: %d, %v; want %d", raw, got, ok, want)
		}
	}
	for _, raw := range []string{"", `""`, `"`, "2147483648", "9999999999", "00000000012", "-1", "1.0", `"a"`, `"1`, `1"`, ":", "/", "null"} {
		if got, ok := parseID([]byte(raw)); ok {
			t.Errorf("%s is taken for %d", raw, got)
		}
	}
}

// Wait returns when the last connection has ended, and at once if none is open. A connection may be ended twice.
func TestLinksWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Links
		if err := l.Wait(t.Context()); err != nil {
			t.Fatalf("without connections: %v", err)
		}
		for range 2 { // also after all have ended before
			first, second := l.opened(), l.opened()
			ended := make(chan error, 2)
			for range 2 {
				go func() { ended <- l.Wait(t.Context()) }()
			}
			synctest.Wait()
			first()
			first()
			synctest.Wait()
			if len(ended) != 0 {
				t.Fatal("Wait returned although a connection is open")
			}
			second()
			synctest.Wait()
			if len(ended) != 2 || <-ended != nil || <-ended != nil {
				t.Fatal("Wait did not return after the last connection had ended")
			}
		}
		l.opened()
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.Wait(canceled); err == nil {
			t.Error("Wait ignored its context")
		}
	})
}

// A server's log message is copied to the gateway's log as "level logger: data".
func TestLogParams(t *testing.T) {
	for params, want := range map[string]string{
		`{"level":"warning","logger":"db","data":"slow"}`: "warning db: slow", `{"level":"info","data":{"a":1}}`: `info: {"a":1}`,
		`{"level":7,"data":true}`: "7: true", `{}`: ": ", `[1]`: "(not an object)",
	} {
		f := protocol.Frame{Raw: []byte(params)}
		f.Params.End = uint32(len(params))
		if got := (logParams{&f}).LogValue(); got.Kind() != slog.KindString || got.String() != want {
			t.Errorf("%s: %q, want %q", params, got, want)
		}
	}
	if got := (logParams{&protocol.Frame{}}).LogValue().String(); got != "(not an object)" {
		t.Errorf("without params: %q", got)
	}
}

// At most maxMentioned resources are reported, also from one message, and the requested one is left out wherever it stands.
func TestMentionsAreCutOff(t *testing.T) {
	links := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"type":"resource_link","uri":"a:%d","name":"x"}`, i))
		}
		return strings.Join(list, ",")
	}
	for name, form := range map[string]string{
		"content": `"content":[%s]`, "one message": `"messages":[{"role":"user","content":[%s]}]`,
		"asked first": `"content":[{"type":"resource_link","uri":"asked","name":"x"},%s]`, "two messages": `"messages":[{"role":"user","content":{"type":"resource_link","uri":"asked"}},{"role":"user","content":[%s]}]`,
	} {
		for n, want := range map[int]int{1: 1, maxMentioned - 1: maxMentioned - 1, maxMentioned: maxMentioned, maxMentioned + 2: maxMentioned} {
			f := actortest.Frame(t, `{"jsonrpc":"2.0","id":1,"result":{`+fmt.Sprintf(form, links(n))+`}}`)
			if got := mentionedIn(&f, "asked"); len(got) != want || got[0] != "a:0" {
				t.Errorf("%s: %d of %d links, want %d", name, len(got), n, want)
			}
		}
	}
	for raw, want := range map[string]bool{
		`{"contents":[{"uri":"a:asked","text":""}]}`: true, `{"contents":[{"uri":"a:other","text":""}]}`: false, `{"contents":[]}`: false,
		`{"contents":[{"uri":"a:asked"},{"uri":"a:other"}]}`: false,
	} {
		for _, original := range [][]byte{[]byte(`"a:asked"`), nil} {
			r := &message.Request{Original: original}
			r.Frame, r.Params = actortest.Request(t, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a:asked"}}`)
			if got := namesOnly([]byte(raw), r); got != want {
				t.Errorf("%s names only what was asked: %v, want %v", raw, got, want)
			}
		}
	}
	if namesOnly([]byte(`{"contents":[{"uri":"a"}]}`), &message.Request{}) {
		t.Error("a request without a URI names something")
	}
}

// Only the newest keptStderr lines of a process are kept.
func TestKeptStderr(t *testing.T) {
	o := opened(t, "stdio", true)
	for i := range keptStderr + 3 {
		o.step(linkEvent{1, upstream.Stderr{Line: fmt.Sprint(i)}})
		if n := len(o.s.life.stderr); n != min(i+1, keptStderr) || o.s.life.stderr[n-1] != fmt.Sprint(i) {
			t.Fatalf("after line %d: %d are kept", i, n)
		}
	}
	if o.s.life.stderr[0] != "3" {
		t.Errorf("the oldest line is %s, want 3", o.s.life.stderr[0])
	}
}

// A backend with a call, a call between two rounds, or a call that waits for the tools is not idle. If it is draining, it
// does not stop yet.
func TestIdleBackends(t *testing.T) {
	for name, use := range map[string]func(*state){
		"nothing": func(*state) {},
		"a call":  func(s *state) { s.conn.byCall[message.CallRef{Seq: 1}] = 1 },
		"a round": func(s *state) { s.carried.rounds[message.CallRef{Seq: 1}] = &round{} },
		"a retry": func(s *state) { s.conn.headerRetries = []*pending{{}} },
		"call, round": func(s *state) {
			s.conn.byCall[message.CallRef{Seq: 1}], s.carried.rounds[message.CallRef{Seq: 2}] = 1, &round{}
		},
		"call, retry": func(s *state) { s.conn.byCall[message.CallRef{Seq: 1}], s.conn.headerRetries = 1, []*pending{{}} },
		"round, retry": func(s *state) {
			s.carried.rounds[message.CallRef{Seq: 1}], s.conn.headerRetries = &round{}, []*pending{{}}
		},
	} {
		s := newState(Options{Server: cfg(), Transport: "stdio"}, kernel.Reference{}, new(uint64))
		use(s)
		if idle := len(s.reportIdle(nil)) == 1; idle != (name == "nothing") {
			t.Errorf("%s: idle %v", name, idle)
		}
		drained := len(s.stopWhenDrained(time.Unix(0, 0), nil)) > 0
		if drained {
			t.Errorf("%s: stopped without being drained", name)
		}
		s.life.phase = message.Draining
		if drained = len(s.stopWhenDrained(time.Unix(0, 0), nil)) > 0; drained != (name == "nothing") {
			t.Errorf("%s: stops when drained: %v", name, drained)
		}
	}
}

// Progress that does not increase over the rounds of a call is marked: a modern server counts each round from zero, but
// the client sees one call.
func TestProgressBehind(t *testing.T) {
	for name, c := range map[string]struct {
		before float64 // reached before this request
		round  bool
		values []string
		want   string
	}{
		"first request":        {0, false, []string{"0", "1", "1", "0.5", "2"}, "nnnnn"},
		"zero is not behind":   {0, true, []string{"0", "0"}, "nn"},
		"a later round":        {5, true, []string{"1", "5", "5.5", "5.5", "6", "6"}, "yynyny"},
		"a round from nothing": {0, true, []string{"1", "1", "2", "2"}, "nyny"},
		"not a number":         {5, true, []string{`"1"`, "null"}, "nn"},
	} {
		s := newState(Options{Server: cfg(), Transport: "stdio"}, kernel.Reference{}, new(uint64))
		s.conn.era = protocol.EraModern
		p := &pending{request: &message.Request{}, before: c.before}
		if c.round {
			p.round = &round{}
			p.reached = c.before
		}
		got := ""
		for _, value := range c.values {
			f := actortest.Frame(t, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":`+value+`}}`)
			got += map[bool]string{true: "y", false: "n"}[s.isBehind(p, &f, f.Params)]
		}
		if got != c.want {
			t.Errorf("%s: %v behind: %s, want %s", name, c.values, got, c.want)
		}
	}
}

// Items that came through too many gateways are left out and logged with their number. Items without a path stay.
func TestItemsFromTooManyGateways(t *testing.T) {
	far := func(n int) []byte {
		nodes := strings.TrimSuffix(strings.Repeat(`"n",`, n), ",")
		return fmt.Appendf(nil, `{"name":"a","_meta":{"goblin-actor/nodes":[%s]}}`, nodes)
	}
	for name, c := range map[string]struct {
		peer   string
		items  [][]byte
		kept   int
		logged int // items in the warning; 0 = no warning
	}{
		"a gateway, none too far": {"peer", [][]byte{far(0), far(protocol.MaxNodes - 1)}, 2, 0},
		"a gateway, two too far":  {"peer", [][]byte{far(protocol.MaxNodes), far(1), far(protocol.MaxNodes + 1)}, 1, 2},
		"not a gateway, too far":  {"", [][]byte{far(protocol.MaxNodes)}, 0, 1},
		"not an item":             {"peer", [][]byte{[]byte(`7`)}, 1, 0},
		"names this gateway":      {"", [][]byte{[]byte(`{"name":"me"}`)}, 1, 0},
	} {
		s := newState(Options{Server: cfg(), Node: "me", Transport: "stdio"}, kernel.Reference{}, new(uint64))
		s.conn.peer.node = c.peer
		kept, out := s.dropLoops(protocol.Tools, c.items, nil)
		logged := 0
		for _, e := range out {
			if l, is := e.Act.(kernel.Logged); is {
				logged = l.Args[slices.Index(l.Args, any("items"))+1].(int)
			}
		}
		if len(kept) != c.kept || logged != c.logged {
			t.Errorf("%s: %d items are kept, %d are logged; want %d and %d", name, len(kept), logged, c.kept, c.logged)
		}
		if c.peer == "" && len(kept) == 1 && string(kept[0]) != string(c.items[0]) {
			t.Errorf("%s: the item became %s", name, kept[0])
		}
	}
}
