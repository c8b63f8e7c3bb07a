package sim

import (
	"fmt"
	"strings"
	"time"
)

// running is a call at work.
type running struct {
	c      *conn
	ticket uint64
	id     string
	nonce  int
	tool   string
	token  string
	gone   bool // cancelled, or answered

	completes     bool      // it is no call but a completion
	link, padding string    // what its result has besides
	asks          int       // questions without an answer
	left          time.Time // one of them was refused since its client had left: when
	began         int
}

// call executes a tool, in one of the ways servers do.
func (c *conn) call(ticket uint64, r *request) {
	w := c.s.w
	call := &running{c: c, ticket: ticket, id: string(r.ID), nonce: r.Params.Arguments.Nonce, tool: r.Params.Name, token: string(r.Params.Meta["progressToken"])}
	c.running[call.id] = call
	call.began = w.book.moment()
	w.book.executed(w, call)
	if r.Params.Arguments.Do != "" {
		call.obey(r.Params.Arguments.Do)
		return
	}
	switch how := w.srng.IntN(100); {
	case c.s.calm():
		call.answer(c.s.think())
	case how < 45:
		call.answer(c.s.think())
	case how < 60:
		call.notes(1 + w.srng.IntN(6))
		call.answer(c.s.think() + time.Second)
	case how < 66:
		call.notes(200)
		w.attacked("a flood of progress")
		call.answer(time.Second)
	case how < 72:
		w.count("a call that is never answered")
	case how < 77:
		w.count("an answer told twice")
		call.answer(c.s.think())
		call.answerAnyway(3 * time.Second)
	case how < 82:
		call.error(c.s.think())
	case how < 94 && !c.modern:
		call.ask()
	default:
		w.count("a server that dies in a call")
		w.fate.After(c.s.think(), func() { c.die() })
	}
}

// answer ends a call after a while, unless it was cancelled.
func (r *running) answer(after time.Duration) {
	r.c.s.w.fate.After(after, func() {
		if r.gone || r.c.dead {
			return
		}
		r.answerAnyway(0)
	})
}

func (r *running) answerAnyway(after time.Duration) {
	r.c.s.w.fate.After(after, func() {
		if r.gone {
			r.c.s.w.count("an answer to what was cancelled or answered")
		}
		r.gone = true
		delete(r.c.running, r.id)
		if r.completes {
			r.c.say(r.ticket, 0, true, `{"jsonrpc":"2.0","id":%s,"result":%s}`, r.id, completion)
			return
		}
		kind := ""
		if r.c.modern {
			kind = `"resultType":"complete",`
		}
		r.c.say(r.ticket, 0, true, `{"jsonrpc":"2.0","id":%s,"result":{%s"content":[%s{"type":"text","text":"done %d%s"}]}}`, r.id, kind, r.link, r.nonce, r.padding)
	})
}

func (r *running) error(after time.Duration) {
	r.c.s.w.fate.After(after, func() {
		if !r.gone {
			r.gone = true
			delete(r.c.running, r.id)
			r.c.say(r.ticket, 0, true, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32050,"message":"it did not work"}}`, r.id)
		}
	})
}

// notes sends progress and log lines of a call.
func (r *running) notes(n int) {
	for i := range n {
		r.c.s.w.fate.After(time.Duration(r.c.s.w.srng.IntN(900))*time.Millisecond, func() {
			if r.gone || r.c.dead {
				return
			}
			r.c.progress++
			if r.token != "" && i%3 != 2 {
				r.c.say(r.ticket, 0, false, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d%s}}`, r.token, r.c.progress, r.c.mark(`,"message":"%s"`))
			} else if !r.c.modern {
				r.c.say(r.ticket, 0, false, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"line %d%s"}}`, i, r.c.mark("%s"))
			}
		})
	}
}

// ask puts questions to the client, and answers when they have been answered.
func (r *running) ask() {
	w := r.c.s.w
	w.count("a question of a legacy server")
	r.asks = 1 + w.srng.IntN(2)
	for range r.asks {
		method := []string{`"elicitation/create","params":{"message":"name?","requestedSchema":{"type":"object","properties":{}}}`,
			`"sampling/createMessage","params":{"messages":[],"maxTokens":1}`, `"roots/list"`}[w.srng.IntN(3)]
		r.put(method)
	}
}

// put asks one question.
func (r *running) put(method string) {
	r.c.lastAsk++
	id := fmt.Sprintf(`"q%d"`, r.c.lastAsk)
	r.c.asked[id] = r
	method = strings.Replace(method, `"name?`, `"name?`+r.c.mark("%s"), 1)
	r.c.say(r.ticket, r.c.s.think(), false, `{"jsonrpc":"2.0","id":%s,"method":%s}`, id, method)
}

// question asks the only one.
func (r *running) question(method string) {
	r.asks = 1
	r.put(method)
}
