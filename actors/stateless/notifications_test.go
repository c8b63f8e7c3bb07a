package stateless

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// forwarded lets the stateless session handle a message and returns what it passes on: the id of the request, followed
// by the progress token or the level of the log line.
func (d *statelessScript) forwarded(msg any) (list []string) {
	d.t.Helper()
	for _, e := range step(d.s, d.now, msg, nil) {
		f, ok := e.Act.(reply.Notify)
		if !ok {
			continue
		}
		frame := d.frame("%s", f.Frame)
		var p protocol.Params
		if err := p.Scan(&frame); err != nil {
			d.t.Fatal(err)
		}
		said := string(p.Token.Of(frame.Raw)) + string(p.Level.Of(frame.Raw))
		list = append(list, string(f.X.Frame.IDBytes())+" "+said)
	}
	return list
}

// asking returns a request for the tool with additional members of _meta, each with a leading comma. With state and answers it is
// a retry.
func (d *statelessScript) asking(id int, capabilities, meta, state, answers string) message.StatelessRequest {
	d.t.Helper()
	x := &downstream.Exchange{Origin: downstream.Origin{Remote: fmt.Sprintf("10.0.0.1:%d", id)}}
	raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":%s%s},"name":"one_ask"`, id, capabilities, meta)
	visit := message.StatelessRequest{Exchange: x}
	if state != "" {
		raw += fmt.Sprintf(`,"requestState":%q,"inputResponses":%s`, state, answers)
		opened, err := d.sealer.Open(state, d.now)
		if err != nil {
			d.t.Fatal(err)
		}
		visit.State = &opened
	}
	x.Frame, x.Params = actortest.Request(d.t, raw+"}}")
	return visit
}

const oneForm = `{"jsonrpc":"2.0","id":"b","method":"elicitation/create","params":{"message":"?","requestedSchema":{}}}`

// parked parks a call at one server request and returns its state.
func (d *statelessScript) parked(capabilities, meta string) string {
	d.t.Helper()
	d.step(d.asking(1, capabilities, meta, "", ""))
	d.step(message.ServerRequest{Seq: d.first(), Key: 1, Frame: d.frame(oneForm)})
	for _, timer := range d.timers {
		d.step(timer)
	}
	if len(d.states) != 1 {
		d.t.Fatalf("%d states were given out, want 1", len(d.states))
	}
	return d.states[0]
}

func (d *statelessScript) progress() message.Progress {
	f := d.frame(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":9,"progress":1}}`)
	var p protocol.Params
	_ = p.Scan(&f)
	return message.Progress{Seq: d.first(), Frame: f, Token: p.Token}
}

func (d *statelessScript) log(level string) message.Log {
	return message.Log{Seq: d.first(), Frame: d.frame(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":%q,"data":1}}`, level)}
}

// Each request gets progress under its own token, and log lines of at least its own level, whatever the first request
// of the call wanted (MCP 2026-07-28, basic/patterns/progress and server/utilities/logging).
func TestNotificationsOfEachRequest(t *testing.T) {
	const accept = `{"q1":{"action":"accept","content":{}}}`
	d := newStatelessScript(t, 1)
	d.now = time.Unix(1000, 0)
	state := d.parked(`{"elicitation":{}}`, `,"progressToken":"old","io.modelcontextprotocol/logLevel":"debug"`)
	d.step(d.progress()) // no request waits for it now
	d.step(d.log("debug"))
	d.step(d.log("error"))
	for _, c := range []struct {
		name, want string
		msg        any
	}{
		{"requests no notifications, so it gets none of the kept ones", "", d.asking(2, `{"elicitation":{}}`, ``, state, accept)},
		{"joined", "", d.asking(3, `{"elicitation":{}}`, `,"progressToken":7,"io.modelcontextprotocol/logLevel":"error"`, state, accept)},
		{"joined", "", d.asking(4, `{"elicitation":{}}`, `,"progressToken":"t","io.modelcontextprotocol/logLevel":"info"`, state, accept)},
		{"progress", `3 7, 4 "t"`, d.progress()},
		{"debug", ``, d.log("debug")},
		{"info", `4 "info"`, d.log("info")},
		{"error", `3 "error", 4 "error"`, d.log("error")},
		{"an unknown level", ``, d.log("loud")},
	} {
		if got := strings.Join(d.forwarded(c.msg), ", "); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestMissedNotifications(t *testing.T) {
	d := newStatelessScript(t, 1)
	state := d.parked(`{"elicitation":{}}`, ``)
	d.step(d.progress())
	d.step(d.log("warning"))
	got := d.forwarded(d.asking(2, `{"elicitation":{}}`, `,"progressToken":7,"io.modelcontextprotocol/logLevel":"notice"`, state, `{}`))
	if want := `2 7, 2 "warning"`; strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// If a retry no longer declares the capability for a server request that is still open, the call ends.
func TestRetryDeclaresCapabilitiesAgain(t *testing.T) {
	for _, c := range []struct {
		capabilities, answers string
		ends                  bool
	}{
		{`{"elicitation":{}}`, `{}`, false},
		{`{}`, `{}`, true},
		{`{}`, `{"q1":{"action":"decline"}}`, false}, // no server request is open anymore
	} {
		d := newStatelessScript(t, 1)
		state := d.parked(`{"elicitation":{}}`, ``)
		denied := ""
		for _, e := range step(d.s, d.now, d.asking(2, c.capabilities, ``, state, c.answers), nil) {
			if a, ok := e.Act.(reply.Refuse); ok {
				denied = string(a.Fault.Name)
			}
		}
		if ends := denied == string(protocol.ClientCannotAnswer); ends != c.ends || (d.s.calls.Len() == 0) != c.ends {
			t.Errorf("%s, %s: denied %q, %d calls left; want it to end: %v", c.capabilities, c.answers, denied, d.s.calls.Len(), c.ends)
		}
	}
}
