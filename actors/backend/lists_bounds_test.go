package backend

import (
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

// page answers the newest request for tools with a page, and returns the number of listed tools; -1 = the list goes on.
func (o *driver) page(cursor string, items int) int {
	o.t.Helper()
	body := strings.TrimSuffix(strings.Repeat(`{"name":"a"},`, items), ",")
	if cursor != "" {
		cursor = fmt.Sprintf(`,"nextCursor":%q`, cursor)
	}
	for _, e := range step(o.s, time.Unix(0, 0), o.frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"tools":[%s]%s}}`, o.s.conn.lastID, body, cursor)), nil) {
		if m, is := e.Msg.(message.Listed); is && m.Kind == protocol.Tools {
			return len(m.Items)
		}
	}
	return -1
}

// listingTools returns a backend that fetches its tools.
func listingTools(t *testing.T) *driver {
	o := opened(t, "stdio", true)
	o.want(o.frame(welcome), "notifications/initialized", "tools/list")
	return o
}

// A list has at most maxPages pages and maxItems items. A cursor that repeats ends it, too.
func TestListsThatDoNotEnd(t *testing.T) {
	o := listingTools(t)
	for n := 1; ; n++ {
		got := o.page(fmt.Sprint("c", n), 1)
		if got >= 0 {
			if n != maxPages || got != maxPages {
				t.Errorf("the list ended after %d pages with %d tools, want %d", n, got, maxPages)
			}
			break
		}
		if n > maxPages {
			t.Fatal("the list does not end")
		}
	}
	o = listingTools(t)
	if o.page("a", 1) != -1 || o.page("b", 1) != -1 || o.page("b", 1) != 3 {
		t.Error("a cursor that repeats did not end the list")
	}
	for extra, want := range map[int]int{-1: maxItems - 1, 0: maxItems, 1: maxItems, 5: maxItems} {
		o := listingTools(t)
		o.page("a", maxItems-10)
		if got := o.page("", 10+extra); got != want {
			t.Errorf("of %d tools %d are listed, want %d", maxItems+extra, got, want)
		}
	}
}

// The pauses before a failed list is fetched again grow. Only the first of several equal failures is logged as a
// warning.
func TestPausesOfAFailingList(t *testing.T) {
	o := listingTools(t)
	o.page("", 1)
	fails := func() (pause time.Duration, warned bool) {
		o.step(o.frame(changed))
		fresh := o.s.conn.lists[protocol.Tools].paused
		if fresh {
			o.step(listDue{1, protocol.Tools, o.s.conn.lists[protocol.Tools].fetches})
		}
		for _, e := range step(o.s, time.Unix(0, 0), o.frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32603,"message":"broken"}}`, o.s.conn.lastID)), nil) {
			if w, is := e.Act.(kernel.Wake); is {
				if _, is := w.Msg.(listDue); is {
					pause = w.After
				}
			}
			if l, is := e.Act.(kernel.Logged); is && l.Level >= 4 {
				warned = true
			}
		}
		return pause, warned
	}
	first, warned := fails()
	if first <= 0 || !warned {
		t.Fatalf("first failure: pause %v, warned %v", first, warned)
	}
	last := first
	for i := range 4 {
		pause, warned := fails()
		if pause <= last/2 || warned {
			t.Errorf("failure %d: pause %v after %v, warned %v", i+2, pause, last, warned)
		}
		last = pause
	}
	if last < 4*first {
		t.Errorf("the pause grew from %v to %v only", first, last)
	}
}

// A server that was found to be legacy is probed for the modern era again once that result is legacyAge old. An era
// that the configuration sets is not probed. Some HTTP statuses say nothing about the era.
func TestAgeOfAKnownEra(t *testing.T) {
	now := time.Unix(1e9, 0)
	for name, c := range map[string]struct {
		configured string
		known      protocol.Era
		age        time.Duration
		want       protocol.Era
	}{
		"young":             {"auto", protocol.EraLegacy, legacyAge - 1, protocol.EraLegacy},
		"old":               {"auto", protocol.EraLegacy, legacyAge, protocol.EraUnknown},
		"old, modern":       {"auto", protocol.EraModern, legacyAge, protocol.EraModern},
		"unknown":           {"auto", protocol.EraUnknown, 0, protocol.EraUnknown},
		"configured legacy": {"legacy", protocol.EraModern, 0, protocol.EraLegacy},
		"configured modern": {"modern", protocol.EraLegacy, legacyAge, protocol.EraModern},
	} {
		server := cfg()
		server.Protocol = c.configured
		s := newState(Options{Server: server, Transport: "stdio", Known: message.KnownEra{Era: c.known, At: now.Add(-c.age)}}, kernel.Reference{}, new(uint64))
		if got := s.plan(now); got != c.want {
			t.Errorf("%s: begins with era %v, want %v", name, got, c.want)
		}
	}
	for status, want := range map[int]bool{499: false, 500: true, 503: true, 401: true, 403: true, 408: true, 425: true, 429: true, 400: false, 404: false, 405: false, 200: false} {
		if isEraNeutral(status) != want {
			t.Errorf("HTTP %d is neutral: %v, want %v", status, !want, want)
		}
	}
}

// An era that is determined again is new, even if it is the same. One that was taken as known keeps its age.
func TestConfirmedEraIsNew(t *testing.T) {
	now := time.Unix(1e9, 0)
	for plan, want := range map[protocol.Era]time.Time{protocol.EraUnknown: now, protocol.EraLegacy: now.Add(-legacyAge)} {
		server := cfg()
		server.Protocol = "auto"
		s := newState(Options{Server: server, Transport: "stdio", Known: message.KnownEra{Era: protocol.EraLegacy, At: now.Add(-legacyAge)}}, kernel.Reference{}, new(uint64))
		s.conn.probe.plan = plan
		if s.setEra(now, protocol.EraLegacy); !s.life.known.At.Equal(want) {
			t.Errorf("planned era %v: known since %v, want %v", plan, s.life.known.At, want)
		}
	}
}

// For a method that no version of the protocol defines, some HTTP statuses mean that the server does not know it. For a
// defined method they do not.
func TestStatusOfUnknownMethods(t *testing.T) {
	for _, method := range []string{"custom/thing", "tools/call"} {
		for status, unknown := range map[int]bool{400: true, 404: true, 405: true, 401: false, 403: false, 406: false, 500: false} {
			o := readyWith(t, `{}`)
			o.s.transport, o.s.link = "http", traitsOf("http")
			r := &message.Request{Caller: &message.Caller{}, Server: "fake"}
			r.Frame, r.Params = actortest.Request(t, `{"jsonrpc":"2.0","id":"c","method":"`+method+`","params":{"name":"a"}}`)
			o.step(message.Send{Call: message.CallRef{Seq: 7}, Request: r})
			if got, want := o.s.unknownMethod(o.s.conn.lastID, status), unknown && method == "custom/thing"; got != want {
				t.Errorf("%s, HTTP %d: unknown %v, want %v", method, status, got, want)
			}
		}
	}
}

// At its end, a backend cancels the calls of a legacy server over HTTP, but not those whose task goes on without a client. Calls of
// a process or of a modern server end with the connection.
func TestCallsAreCanceledAtTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		transport string
		era       protocol.Era
		follow    bool
		want      int
	}{
		"http": {"http", protocol.EraLegacy, false, 2}, "process": {"stdio", protocol.EraLegacy, false, 0}, "modern": {"http", protocol.EraModern, false, 0}, "a task": {"http", protocol.EraLegacy, true, 1},
	} {
		o := readyWith(t, `{}`)
		o.sends(1)
		id := o.sends(2)
		o.s.transport, o.s.link, o.s.conn.era = c.transport, traitsOf(c.transport), c.era
		if c.follow {
			o.s.conn.pending[id].followed = &followed{id: "t"}
		}
		canceled := 0
		for _, frame := range o.frames(kernel.Stopping{}) {
			if strings.Contains(frame, "notifications/cancelled") {
				canceled++
			}
		}
		if canceled != c.want {
			t.Errorf("%s: %d calls were canceled, want %d", name, canceled, c.want)
		}
	}
}

// If a call that waits for the list of tools is canceled, it ends once, and the others still wait.
func TestCancelOfACallThatWaitsForTools(t *testing.T) {
	s := newState(Options{Server: cfg(), Transport: "http"}, kernel.Reference{}, new(uint64))
	for seq := range uint64(3) {
		s.conn.headerRetries = append(s.conn.headerRetries, &pending{call: message.CallRef{Seq: seq}, request: &message.Request{}})
	}
	ended := 0
	for range 2 {
		for _, e := range step(s, time.Unix(0, 0), message.CancelSent{Call: message.CallRef{Seq: 1}}, nil) {
			if m, is := e.Msg.(message.CallEnded); is && m.Call.Seq == 1 {
				ended++
			}
		}
	}
	var left []uint64
	for _, p := range s.conn.headerRetries {
		left = append(left, p.call.Seq)
	}
	if ended != 1 || !slices.Equal(left, []uint64{0, 2}) {
		t.Errorf("ended %d times, left %v; want once and calls 0 and 2", ended, left)
	}
}

// The meta tools of another gateway are left out, unless it lists nothing else.
func TestMetaToolsOfAnotherGateway(t *testing.T) {
	meta := []byte(`{"name":"goblin_find","_meta":{"` + protocol.MetaServer + `":"goblin"}}`)
	other := []byte(`{"name":"b","_meta":{"` + protocol.MetaServer + `":"files"}}`)
	plain, broken := []byte(`{"name":"a"}`), []byte(`"`+protocol.MetaServer+`"`)
	for name, c := range map[string]struct{ items, want [][]byte }{
		"both":      {[][]byte{meta, plain, other}, [][]byte{plain, other}},
		"nothing":   {nil, nil},
		"only meta": {[][]byte{meta, meta}, [][]byte{meta, meta}},
		"other":     {[][]byte{other}, [][]byte{other}},
		"broken":    {[][]byte{broken, meta}, [][]byte{broken}},
	} {
		if got := withoutMetaTools(slices.Clone(c.items)); !slices.EqualFunc(got, c.want, slices.Equal) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// The pool learns that a login does not help only while the backend waits for one.
func TestLoginThatDoesNotHelp(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{"no login helps": {&upstream.LoginError{Status: 401, Err: upstream.ErrNoLogin}, true}, "a login helps": {&upstream.LoginError{Status: 401}, false}} {
		o := readyWith(t, `{}`)
		o.s.transport, o.s.link = "http", traitsOf("http")
		var got []message.BackendChanged
		for _, e := range step(o.s, time.Unix(0, 0), linkEvent{1, upstream.Closed{Err: c.err}}, nil) {
			if m, is := e.Msg.(message.BackendChanged); is {
				got = append(got, m)
			}
		}
		if len(got) != 1 || got[0].Phase != message.NeedsLogin || got[0].NoLogin != c.want {
			t.Errorf("%s: reported %+v", name, got)
		}
		o.step(message.LoggedIn{})
		for _, e := range step(o.s, time.Unix(0, 0), message.Connect{}, nil) {
			if m, is := e.Msg.(message.BackendChanged); is && m.NoLogin {
				t.Errorf("%s: phase %s says that no login helps", name, m.Phase)
			}
		}
	}
}

// A task has ended when the response to a request about it says so, or with its result.
func TestEndOfATaskIsLearned(t *testing.T) {
	for name, c := range map[string]struct {
		method protocol.Method
		item   string
		result string
		want   bool
	}{
		"get, working":      {protocol.MethodTasksGet, "t", `{"status":"working"}`, false},
		"get, completed":    {protocol.MethodTasksGet, "t", `{"status":"completed"}`, true},
		"get, failed":       {protocol.MethodTasksGet, "t", `{"status":"failed"}`, true},
		"cancel":            {protocol.MethodTasksCancel, "t", `{"status":"cancelled"}`, true},
		"result":            {protocol.MethodTasksResult, "t", `{"content":[]}`, true},
		"of another task":   {protocol.MethodTasksResult, "u", `{"content":[]}`, false},
		"of another method": {protocol.MethodToolsCall, "t", `{"status":"completed"}`, false},
	} {
		s := newState(Options{Server: cfg(), Transport: "stdio"}, kernel.Reference{}, new(uint64))
		s.conn.tasks = []task{{id: "s"}, {id: "t"}}
		r := &message.Request{Item: c.item}
		r.Frame.Method = c.method
		f := actortest.Frame(t, `{"jsonrpc":"2.0","id":1,"result":`+c.result+`}`)
		s.learnTaskEnd(&pending{request: r}, &f)
		if s.conn.tasks[1].ended != c.want || s.conn.tasks[0].ended {
			t.Errorf("%s: ended %v, want %v", name, s.conn.tasks[1].ended, c.want)
		}
		s.learnTaskEnd(&pending{}, &f) // a request of the gateway
	}
}

// A call between two rounds fails if its server has become legacy.
func TestRoundsOfAServerThatBecameLegacy(t *testing.T) {
	for era, want := range map[protocol.Era]int{protocol.EraLegacy: 1, protocol.EraModern: 0} {
		s := newState(Options{Server: cfg(), Transport: "stdio"}, kernel.Reference{}, new(uint64))
		s.conn.era = era
		s.carried.rounds[message.CallRef{Seq: 3}] = &round{call: message.CallRef{Seq: 3}}
		failed := 0
		for _, e := range s.sendRounds(nil) {
			if m, is := e.Msg.(message.Failed); is && m.Seq == 3 {
				failed++
			}
		}
		if failed != want || len(s.carried.rounds) != 1-want {
			t.Errorf("era %v: failed %d times, %d rounds are left", era, failed, len(s.carried.rounds))
		}
	}
}
