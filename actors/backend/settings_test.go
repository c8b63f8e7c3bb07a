package backend

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// readyWith returns a ready backend on stdio, without a catalog, whose server has these capabilities.
func readyWith(t *testing.T, capabilities string) *driver {
	o := opened(t, "stdio", false)
	o.step(o.frame(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `}}`))
	if o.s.life.phase != message.Ready {
		t.Fatalf("phase %s, want ready", o.s.life.phase)
	}
	return o
}

// frames applies a message and returns the frames that are written.
func (o *driver) frames(msg any) (list []string) {
	for _, e := range step(o.s, time.Unix(0, 0), msg, nil) {
		if w, is := e.Act.(write); is {
			list = append(list, string(w.out.Frame))
		}
	}
	return list
}

// A ready legacy server that supports logging gets a level when it changes. When no client wants log lines anymore, it gets
// the default level.
func TestLevelsOfAServer(t *testing.T) {
	o := readyWith(t, `{"logging":{}}`)
	for i, c := range []struct{ level, want string }{
		{"", ""}, {"debug", "debug"}, {"debug", ""}, {"error", "error"}, {"", string(defaultLevel)}, {"", ""}, {string(defaultLevel), ""},
	} {
		got := strings.Join(o.frames(message.SetLevel{Level: protocol.Level(c.level)}), "")
		if c.want == "" && got != "" || c.want != "" && !strings.Contains(got, fmt.Sprintf(`"method":"logging/setLevel","params":{"level":%q}`, c.want)) {
			t.Errorf("level %d, %q: wrote %q, want %q", i, c.level, got, c.want)
		}
	}
	for _, capabilities := range []string{`{}`, `{"logging":null}`, `{"tools":{}}`} {
		if got := readyWith(t, capabilities).frames(message.SetLevel{Level: "debug"}); len(got) != 0 {
			t.Errorf("a server with %s got %q", capabilities, got)
		}
	}
	o = opened(t, "stdio", false)
	if got := o.frames(message.SetLevel{Level: "debug"}); len(got) != 0 {
		t.Errorf("the server got %q before it was ready", got)
	}
	o = readyWith(t, `{"logging":{}}`)
	o.s.conn.era = protocol.EraModern
	if got := o.frames(message.SetLevel{Level: "debug"}); len(got) != 0 {
		t.Errorf("a modern server got %q", got)
	}
}

// A call of a modern client raises the log level of a legacy server before it is written, and never lowers it.
func TestLevelOfACall(t *testing.T) {
	o := readyWith(t, `{"logging":{}}`)
	for i, c := range []struct{ level, want string }{
		{"", "tools/call"}, {"info", "logging/setLevel tools/call"}, {"info", "tools/call"}, {"error", "tools/call"}, {"debug", "logging/setLevel tools/call"},
	} {
		r := request(t, callFrame)
		r.Caller = &message.Caller{LogLevel: protocol.Level(c.level)}
		var methods []string
		for _, frame := range o.frames(message.Send{Call: message.CallRef{Seq: uint64(i + 1)}, Request: r}) {
			var m struct{ Method string }
			if err := json.Unmarshal([]byte(frame), &m); err != nil {
				t.Fatal(err)
			}
			methods = append(methods, m.Method)
		}
		if got := strings.Join(methods, " "); got != c.want {
			t.Errorf("call %d, which wants %q: wrote %q, want %q", i, c.level, got, c.want)
		}
	}
}

// A reload that changes the configured roots is reported to a ready legacy server that has asked for roots.
func TestRootsOfAReload(t *testing.T) {
	const ask = `{"jsonrpc":"2.0","id":"r","method":"roots/list"}`
	for name, c := range map[string]struct {
		asks, change bool
		prepare      func(*driver)
		want         int
	}{
		"asked":         {true, true, func(*driver) {}, 1},
		"did not ask":   {false, true, func(*driver) {}, 0},
		"no change":     {true, false, func(*driver) {}, 0},
		"not ready":     {true, true, func(o *driver) { o.s.life.phase = message.Draining }, 0},
		"modern server": {true, true, func(o *driver) { o.s.conn.era = protocol.EraModern }, 0},
	} {
		o := readyWith(t, `{}`)
		if c.asks {
			if got := o.frames(o.frame(ask)); len(got) != 1 || !strings.Contains(got[0], `"result":{"roots":[]}`) {
				t.Fatalf("%s: the server got %q, want an answer without roots", name, got)
			}
		}
		next := o.s.server
		if c.change {
			next.Roots = []string{"file:///work"}
		}
		c.prepare(o)
		if got := o.frames(message.NewServer{Server: next}); len(got) != c.want || c.want == 1 && !strings.Contains(got[0], "notifications/roots/list_changed") {
			t.Errorf("%s: the server got %q, want %d notifications", name, got, c.want)
		}
		o.s.conn.era = protocol.EraLegacy
		if got := o.frames(o.frame(ask)); len(got) == 1 && strings.Contains(got[0], "file:///work") != c.change {
			t.Errorf("%s: the server gets the roots %q", name, got)
		}
	}
}

// A reload adjusts running timers: startTimeout counts from the attempt to connect, and a shorter backoff applies at once.
func TestReloadAdjustsTimers(t *testing.T) {
	wakes := func(o *driver, now time.Duration, msg any) (list []kernel.Wake) {
		for _, e := range step(o.s, time.Unix(0, 0).Add(now), msg, nil) {
			if w, is := e.Act.(kernel.Wake); is {
				list = append(list, w)
			}
		}
		return list
	}
	for timeout, want := range map[time.Duration][]time.Duration{time.Minute: nil, 10 * time.Second: {7 * time.Second}, 3 * time.Second: {0}, 2 * time.Second: {0}, 0: nil, -1: nil} {
		o := opened(t, "stdio", true) // startTimeout is a minute
		next := o.s.server
		next.StartTimeout = timeout
		var after []time.Duration
		for _, w := range wakes(o, 3*time.Second, message.NewServer{Server: next}) {
			if _, is := w.Msg.(startExpired); is {
				after = append(after, w.After)
			}
		}
		if !slices.Equal(after, want) {
			t.Errorf("startTimeout %v after 3s: timers %v, want %v", timeout, after, want)
		}
		for at, ended := range map[time.Duration]bool{timeout - 1: false, timeout: timeout > 0, time.Hour: timeout > 0} {
			o := opened(t, "stdio", true)
			o.s.server.StartTimeout = timeout
			step(o.s, time.Unix(0, 0).Add(at), startExpired{1}, nil)
			if got := o.s.life.phase == message.Waiting; got != ended && at >= 0 {
				t.Errorf("startTimeout %v: given up after %v: %v, want %v", timeout, at, got, ended)
			}
		}
	}
	o := readyWith(t, `{}`)
	next := o.s.server
	next.StartTimeout = time.Second
	if list := wakes(o, 0, message.NewServer{Server: next}); len(list) != 0 {
		t.Errorf("a ready backend started the timers %v", list)
	}
	for name, c := range map[string]struct {
		min  time.Duration
		want int
	}{"shorter": {time.Second, 1}, "longer": {time.Hour, 0}} {
		o := opened(t, "stdio", true)
		o.s.server.Reconnect.Min, o.s.server.Reconnect.Max = time.Minute, time.Minute
		o.step(linkEvent{1, upstream.Closed{}})
		next := o.s.server
		next.Reconnect.Min, next.Reconnect.Max = c.min, c.min
		var due []kernel.Wake
		for _, w := range wakes(o, 0, message.NewServer{Server: next}) {
			if _, is := w.Msg.(reconnectDue); is {
				due = append(due, w)
			}
		}
		if len(due) != c.want || c.want == 1 && (due[0].After != c.min || o.s.life.nextAttempt != time.Unix(0, 0).Add(c.min)) {
			t.Errorf("%s pause: timers %v, next attempt at %v", name, due, o.s.life.nextAttempt)
		}
	}
}

// Calls that may be repeated are returned to the pool when their connection breaks (retry.inFlight). All others fail.
func TestWhichCallsAreRepeated(t *testing.T) {
	for name, c := range map[string]struct {
		inFlight string
		method   string
		change   func(*pending)
		want     bool
	}{
		"a read":                   {"idempotent", "resources/read", nil, true},
		"off":                      {"never", "resources/read", nil, false},
		"a tool":                   {"idempotent", "tools/call", nil, false},
		"it has asked its client":  {"idempotent", "resources/read", func(p *pending) { p.hasAsked = true }, false},
		"the client has answered":  {"idempotent", "resources/read", func(p *pending) { p.round = &round{} }, false},
		"its task is followed":     {"idempotent", "resources/read", func(p *pending) { p.followed = &followed{} }, false},
		"a request of the gateway": {"idempotent", "resources/read", func(p *pending) { p.own = ignored }, false},
	} {
		o := readyWith(t, `{}`)
		o.s.server.Retry.InFlight = c.inFlight
		r := &message.Request{Caller: &message.Caller{}, Server: "fake"}
		r.Frame, r.Params = actortest.Request(t, `{"jsonrpc":"2.0","id":"c","method":"`+c.method+`","params":{"uri":"a","name":"a"}}`)
		o.step(message.Send{Call: message.CallRef{Seq: 7}, Request: r})
		p := o.s.conn.pending[o.s.conn.lastID]
		o.step(linkEvent{1, upstream.Written{Ticket: uint64(o.s.conn.lastID)}})
		if c.change != nil {
			c.change(p)
		}
		if got := o.s.mayRepeat(p); got != c.want {
			t.Errorf("%s: may be repeated: %v, want %v", name, got, c.want)
		}
		if p.own != nil {
			continue
		}
		returned, lost := 0, -1
		for i, e := range step(o.s, time.Unix(0, 0), linkEvent{1, upstream.Closed{}}, nil) {
			switch m := e.Msg.(type) {
			case message.ConnectionLost:
				if returned++; lost < 0 || m.Call.Seq != 7 || m.Fault.Name != protocol.BackendDisconnected {
					t.Errorf("%s: returned %+v before the loss was reported", name, m)
				}
			case message.BackendChanged:
				lost = i
			}
		}
		if (returned == 1) != c.want {
			t.Errorf("%s: the call was returned %d times, want it returned: %v", name, returned, c.want)
		}
	}
}
