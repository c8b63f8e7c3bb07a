package sim

import (
	"fmt"
	"strings"
	"time"
)

// serverCall is a call that a server executes.
type serverCall struct {
	c      *conn
	ticket uint64
	id     string
	nonce  int
	tool   string
	token  string
	done   bool // canceled or completed

	completes     bool      // a completion, not a tool call
	link, padding string    // extra content of its result
	openQuestions int       // unanswered server requests
	refusedAt     time.Time // when one of them was refused because the client had left
	began         int
}

// call executes a tool call with a random behavior.
func (c *conn) call(ticket uint64, r *frameToServer) {
	w := c.s.w
	call := &serverCall{c: c, ticket: ticket, id: string(r.ID), nonce: r.Params.Arguments.Nonce, tool: r.Params.Name, token: string(r.Params.Meta["progressToken"])}
	c.calls[call.id] = call
	call.began = w.history.moment()
	w.history.recordCall(w, call)
	if r.Params.Arguments.Do != "" {
		call.follow(r.Params.Arguments.Do)
		return
	}
	switch how := w.serverRand.IntN(100); {
	case c.s.isCalm():
		call.complete(c.s.workTime())
	case how < 45:
		call.complete(c.s.workTime())
	case how < 60:
		call.sendNotifications(1 + w.serverRand.IntN(6))
		call.complete(c.s.workTime() + time.Second)
	case how < 66:
		call.sendNotifications(200)
		w.attackStarted("a flood of progress")
		call.complete(time.Second)
	case how < 72:
		w.count("a call without a response")
	case how < 77:
		w.count("a response sent twice")
		call.complete(c.s.workTime())
		call.completeAnyway(3 * time.Second)
	case how < 82:
		call.fail(c.s.workTime())
	case how < 94 && !c.modern:
		call.askSome()
	default:
		w.count("a server that dies during a call")
		w.scheduler.After(c.s.workTime(), func() { c.die() })
	}
}

// complete sends the result after a while, unless the call has been canceled or completed, or the connection has ended.
func (r *serverCall) complete(after time.Duration) {
	r.c.s.w.scheduler.After(after, func() {
		if r.done || r.c.dead {
			return
		}
		r.completeAnyway(0)
	})
}

// completeAnyway sends the result after a while, even if the call was canceled or completed.
func (r *serverCall) completeAnyway(after time.Duration) {
	r.c.s.w.scheduler.After(after, func() {
		if r.done {
			r.c.s.w.count("a response to a canceled or completed call")
		}
		r.done = true
		delete(r.c.calls, r.id)
		if r.completes {
			r.c.send(r.ticket, 0, true, `{"jsonrpc":"2.0","id":%s,"result":%s}`, r.id, completion)
			return
		}
		kind := ""
		if r.c.modern {
			kind = `"resultType":"complete",`
		}
		r.c.send(r.ticket, 0, true, `{"jsonrpc":"2.0","id":%s,"result":{%s"content":[%s{"type":"text","text":"done %d%s"}]}}`, r.id, kind, r.link, r.nonce, r.padding)
	})
}

func (r *serverCall) fail(after time.Duration) {
	r.c.s.w.scheduler.After(after, func() {
		if !r.done {
			r.done = true
			delete(r.c.calls, r.id)
			r.c.send(r.ticket, 0, true, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32050,"message":"it did not work"}}`, r.id)
		}
	})
}

// sendNotifications sends n progress or log notifications of the call.
func (r *serverCall) sendNotifications(n int) {
	for i := range n {
		r.c.s.w.scheduler.After(time.Duration(r.c.s.w.serverRand.IntN(900))*time.Millisecond, func() {
			if r.done || r.c.dead {
				return
			}
			r.c.progress++
			if r.token != "" && i%3 != 2 {
				r.c.send(r.ticket, 0, false, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d%s}}`, r.token, r.c.progress, r.c.mark(`,"message":"%s"`))
			} else if !r.c.modern {
				r.c.send(r.ticket, 0, false, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"line %d%s"}}`, i, r.c.mark("%s"))
			}
		})
	}
}

// askSome sends one or two server requests. The call completes when they are answered.
func (r *serverCall) askSome() {
	w := r.c.s.w
	w.count("a question of a legacy server")
	r.openQuestions = 1 + w.serverRand.IntN(2)
	for range r.openQuestions {
		method := []string{`"elicitation/create","params":{"message":"name?","requestedSchema":{"type":"object","properties":{}}}`,
			`"sampling/createMessage","params":{"messages":[],"maxTokens":1}`, `"roots/list"`}[w.serverRand.IntN(3)]
		r.sendQuestion(method)
	}
}

// sendQuestion sends a server request.
func (r *serverCall) sendQuestion(method string) {
	r.c.lastQuestion++
	id := fmt.Sprintf(`"q%d"`, r.c.lastQuestion)
	r.c.questions[id] = r
	method = strings.Replace(method, `"name?`, `"name?`+r.c.mark("%s"), 1)
	r.c.send(r.ticket, r.c.s.workTime(), false, `{"jsonrpc":"2.0","id":%s,"method":%s}`, id, method)
}

// askOne sends the call's only server request.
func (r *serverCall) askOne(method string) {
	r.openQuestions = 1
	r.sendQuestion(method)
}
