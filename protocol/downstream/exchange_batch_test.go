package downstream

import (
	"strings"
	"testing"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

// splitHandler passes the messages of each batch to do. It refuses bodies that are not a valid batch.
func splitHandler(do func(members []*Exchange)) Handler {
	return handlerFunc{post: func(x *Exchange) {
		members, err := x.Split()
		if err != nil {
			x.Refuse(400, []byte("{}"), 0)
			return
		}
		do(members)
	}}
}

const twoAsked = `[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":2,"method":"b","params":{}}]`

func answerTo(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` }

// MCP 2025-03-26, basic/transports, sending messages to the server; protocol.md L10: the answers to a batch are collected.
func TestSplitAnswers(t *testing.T) {
	settle := func(members []*Exchange) {
		for _, m := range members {
			if m.Frame.ID.Present() {
				m.Answer(protocol.Message{Frame: resultOf(m, nil)})
			}
			m.Accept() // ends a notification; does nothing for a request that was answered
		}
	}
	tests := []struct {
		name, head, body string
		do               func([]*Exchange)
		status           int
		want             string
	}{
		{"array", postHead, twoAsked, settle, 200, `[` + answerTo("1") + `,` + answerTo("2") + `]`},
		{"JSON only", jsonOnlyHead, twoAsked, func(m []*Exchange) {
			m[0].Notify(protocol.Message{Frame: note("x")}, WeightLog, "")
			settle(m)
		}, 200, `[` + answerTo("1") + `,` + answerTo("2") + `]`},
		{"as they come", postHead, twoAsked, func(m []*Exchange) {
			m[2].Answer(protocol.Message{Frame: resultOf(m[2], nil)})
			m[1].Accept()
			m[0].Answer(protocol.Message{Frame: resultOf(m[0], nil)})
		}, 200, `[` + answerTo("2") + `,` + answerTo("1") + `]`},
		{"events", postHead, twoAsked, func(m []*Exchange) {
			m[0].Answer(protocol.Message{Frame: resultOf(m[0], nil)})
			m[2].Notify(protocol.Message{Frame: note("x")}, WeightState, "p")
			m[2].Notify(protocol.Message{Frame: note("y")}, WeightState, "p")
			m[1].Notify(protocol.Message{Frame: note("z")}, WeightState, "p") // the state of another message
			m[2].Answer(protocol.Message{Frame: resultOf(m[2], nil)})
			m[1].Accept()
		}, 200, ":\n\n" + event(answerTo("1")) + event(string(note("y"))) + event(string(note("z"))) + event(answerTo("2"))},
		{"events only", strings.Replace(postHead, "application/json, ", "", 1), twoAsked, settle, 200, event(answerTo("1")) + event(answerTo("2"))},
		{"no requests", postHead, `[{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":1,"result":{}}]`, func(m []*Exchange) {
			m[0].Refuse(400, []byte("{}"), 0)
			m[1].Accept()
		}, 202, ""},
		{"cancelled", postHead, twoAsked, func(m []*Exchange) {
			for _, member := range m {
				member.Accept()
			}
		}, 202, ""},
		{"refused", postHead, twoAsked, func(m []*Exchange) {
			m[0].Refuse(404, []byte(`{"no":1}`), 0)
			settle(m)
		}, 200, `[{"no":1},` + answerTo("2") + `]`},
		{"wrong params", postHead, `[{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":7}},{"jsonrpc":"2.0","id":1,"method":"a"}]`,
			settle, 200, `"id":7,"error":{"code":-32602`},
		{"all of them wrong", postHead, `[{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":7}}]`, settle, 200, `[{"jsonrpc":"2.0","id":7,"error":{"code":-32602`},
		{"no batch", postHead, `[7]`, settle, 400, "{}"},
	}
	for _, test := range tests {
		budget := stream.NewBudget(1 << 20)
		_, address := serve(t, splitHandler(test.do), Options{Budget: budget}, testLimits)
		c := dial(t, address)
		for range 2 {
			r, body := c.send(test.head + "Content-Length: " + itoa(len(test.body)) + "\r\n\r\n" + test.body).body()
			if r.StatusCode != test.status || !strings.Contains(body, test.want) || test.want == "" && body != "" {
				t.Errorf("%s: got %d %s, want %d %s", test.name, r.StatusCode, body, test.status, test.want)
			}
		}
		eventually(t, test.name+": the budget to be free", func() bool { return budget.Used() == 0 })
	}
}
