package stateless

import (
	"fmt"
	"strings"
	"testing"

	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/protocol"
)

// mustOpen returns a legacy server's error that asks the client to open URLs.
func (d *statelessScript) mustOpen(urls ...string) message.Done {
	var list []string
	for i, url := range urls {
		list = append(list, fmt.Sprintf(`{"mode":"url","url":%q,"elicitationId":"e%d","message":"m"}`, url, i))
	}
	seq := uint64(0)
	for s := range d.s.calls.All() {
		seq = s
	}
	return message.Done{Seq: seq, Frame: d.frame(`{"jsonrpc":"2.0","id":5,"error":{"code":-32042,"message":"open","data":{"elicitations":[%s]}}}`, strings.Join(list, ","))}
}

// opensURLs declares that a client opens URLs.
const opensURLs = `{"elicitation":{"url":{}}}`

// A server's error that asks to open URLs becomes server requests with one key each. The retry calls the server again, without a
// state.
func TestURLsAreRequested(t *testing.T) {
	d := newStatelessScript(t, 1)
	d.step(d.asking(1, opensURLs, ``, "", ""))
	var answer string
	for _, e := range step(d.s, d.now, d.mustOpen("https://a/x", "https://b/y"), nil) {
		if a, is := e.Act.(reply.Answer); is {
			answer = string(a.Frame)
		}
	}
	for _, want := range []string{`"q1":{"method":"elicitation/create"`, `"q2":{"method":"elicitation/create"`, "https://a/x", "https://b/y", `"requestState":`, `"input_required"`} {
		if !strings.Contains(answer, want) {
			t.Errorf("the answer %s lacks %s", answer, want)
		}
	}
	if strings.Contains(answer, `"q3"`) || strings.Contains(answer, `"q0"`) {
		t.Errorf("the answer has other keys: %s", answer)
	}
	d = newStatelessScript(t, 1)
	d.step(d.asking(1, opensURLs, ``, "", ""))
	d.step(d.mustOpen("https://a/x"))
	var sent []message.Dispatch
	for _, e := range step(d.s, d.now, d.asking(2, opensURLs, ``, d.states[0], accept), nil) {
		if m, is := e.Msg.(message.Dispatch); is {
			sent = append(sent, m)
		}
	}
	if len(sent) != 1 || strings.Contains(string(sent[0].Request.Frame.Raw), "requestState") || string(sent[0].Request.Target.Of(sent[0].Request.Frame.Raw)) != `"one_ask"` {
		t.Errorf("the retry sent %+v, want the call without a state", sent)
	}
}

// The client is not asked twice in a row to open the same URLs, whatever their queries and fragments. In one call, it is
// asked to open URLs at most maxURLRounds times. After that, it gets the server's error.
func TestURLsAreRequestedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		urls []string // that the server asks for, one call after the other
		asks int      // how often the client is asked, until it gets the server's error
	}{
		"the same":           {[]string{"https://a/x", "https://a/x"}, 1},
		"another query":      {[]string{"https://a/x?s=1", "https://a/x?s=2"}, 1},
		"another fragment":   {[]string{"https://a/x", "https://a/x#top"}, 1},
		"nothing but query":  {[]string{"?a", "?b"}, 1},
		"another path":       {[]string{"https://a/x", "https://a/y", "https://a/y"}, 2},
		"different each one": {[]string{"https://a/1", "https://a/2", "https://a/3", "https://a/4", "https://a/5"}, maxURLRounds},
	} {
		d := newStatelessScript(t, 1)
		d.step(d.asking(1, opensURLs, ``, "", ""))
		for i, url := range c.urls {
			d.states = nil
			d.step(d.mustOpen(url))
			if asked := len(d.states) == 1; asked != (i < c.asks) {
				t.Errorf("%s: call %d: asked %v, want %v", name, i+1, asked, !asked)
			}
			if len(d.states) == 0 {
				break
			}
			d.step(d.asking(i+2, opensURLs, ``, d.states[0], accept))
		}
	}
}

// A client that has not declared that it opens URLs cannot be asked. Errors that only look alike pass unchanged.
func TestURLsThatCannotBeRequested(t *testing.T) {
	d := newStatelessScript(t, 1)
	d.step(d.asking(1, form, ``, "", ""))
	d.wants("not declared", d.mustOpen("https://a/x"), "1: "+string(protocol.ClientCannotAnswer))
	for name, body := range map[string]string{
		"another code": `{"code":-32041,"message":"","data":{"elicitations":[{"url":"https://a/x"}]}}`,
		"no URLs":      `{"code":-32042,"message":"","data":{"elicitations":[]}}`,
		"no url":       `{"code":-32042,"message":"","data":{"elicitations":[{"url":7}]}}`,
	} {
		d := newStatelessScript(t, 1)
		d.step(d.asking(1, opensURLs, ``, "", ""))
		d.wants(name, message.Done{Seq: d.first(), Frame: d.frame(`{"jsonrpc":"2.0","id":5,"error":%s}`, body)}, "1: error")
	}
}
