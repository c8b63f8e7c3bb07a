package relay

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

func frame(text string) protocol.Message { return protocol.Message{Frame: []byte(text)} }

func note(name string) protocol.Message {
	return frame(`{"jsonrpc":"2.0","method":"notifications/` + name + `"}`)
}

func resultOf(x *downstream.Exchange, value string) protocol.Message {
	return protocol.Message{Frame: protocol.AppendResult(nil, x.Frame.IDBytes(), []byte(value))}
}

// answers is a handler whose methods are named after the response that they give.
func answers() downstream.Handler {
	replay := downstream.NewReplay(downstream.ReplayOptions{Prime: true})
	var post func(x *downstream.Exchange)
	post = func(x *downstream.Exchange) {
		if x.Batch != nil {
			members, err := x.Split()
			if err != nil {
				x.Refuse(400, []byte(`{"bad":1}`), 0)
				return
			}
			for _, m := range members {
				post(m)
			}
			return
		}
		switch x.Frame.MethodText() {
		case "initialize":
			x.SetSession("session-1")
			x.Answer(resultOf(x, `{}`))
		case "newline":
			x.Answer(protocol.Message{Frame: []byte("{\"jsonrpc\":\"2.0\",\n\"id\":1,\"result\":{}}"), Newline: true})
		case "pieces":
			x.AnswerPieces([][]byte{[]byte(`{"jsonrpc":"2.0","id":1,`), []byte(`"result":{}}`)}, false, nil)
		case "large":
			x.Answer(resultOf(x, `"`+strings.Repeat("x", 3<<20)+`"`))
		case "fault":
			message.RefuseFault(x, 200, &protocol.Fault{Name: protocol.Overloaded, RetryAfter: 1500 * time.Millisecond})
		case "missing":
			message.RefuseNoSession(x)
		case "revoked":
			message.RefuseFault(x, 401, message.Revoked)
		case "empty":
			x.Refuse(404, nil, 0)
		case "busy":
			x.Refuse(503, []byte(`{"busy":1}`), 90*time.Second)
		case "method":
			x.Refuse(405, nil, 0)
		case "notify":
			x.Notify(note("a"), downstream.WeightAnswer, "")
			x.Notify(note("b"), downstream.WeightAnswer, "")
			x.Answer(resultOf(x, `{}`))
		case "resumable":
			x.Notify(note("a"), downstream.WeightAnswer, "")
			x.Answer(resultOf(x, `{}`))
		case "slow":
			time.AfterFunc(100*time.Millisecond, func() { x.Answer(resultOf(x, `{}`)) })
		default:
			x.Accept()
		}
	}
	return handlerFunc{post: post, open: func(s *downstream.EventStream) {
		switch s.Origin.SessionID {
		case "none":
			s.Refuse(404, nil, 0)
		case "full":
			s.Refuse(503, []byte(`{"full":1}`), time.Second)
		case "method":
			s.Refuse(405, nil, 0)
		case "resumable":
			s.Resumable(replay)
			s.Accept()
			s.Push(note("a"), downstream.WeightAnswer, "")
			s.Close()
		default:
			s.Accept()
			s.Push(note("a"), downstream.WeightAnswer, "")
			s.Push(frame(`"`+strings.Repeat("x", 300<<10)+`"`), downstream.WeightAnswer, "")
			time.AfterFunc(50*time.Millisecond, s.Close)
		}
	}, delete: func(x *downstream.Exchange) {
		switch x.Origin.SessionID {
		case "none":
			message.RefuseNoSession(x)
		case "method":
			x.Refuse(405, nil, 0)
		default:
			x.Accept()
		}
	}}
}

// The bytes of a relayed response are those that the client would get from the other node itself.
func TestBytesAreEqual(t *testing.T) {
	w := newRig(t, answers(), func(home *downstream.Options, _ *Options) { home.SSEAfter = 50 * time.Millisecond })
	var requests []string
	methods := []string{"initialize", "newline", "pieces", "large", "fault", "missing", "revoked", "empty", "busy", "method", "notify"}
	for _, accept := range []string{accepts, "Accept: application/json", "Accept: text/event-stream", "Accept: */*"} {
		for _, method := range methods {
			requests = append(requests, post(call(method), accept), post(`{"jsonrpc":"2.0","method":"`+method+`"}`, accept), post("["+call(method)+`,{"jsonrpc":"2.0","id":2,"method":"pieces"}]`, accept))
		}
		requests = append(requests, post(`{"jsonrpc":"2.0","method":"accepted"}`, accept), post(`{"jsonrpc":"2.0","id":1,"result":{}}`, accept), post(`[1]`, accept),
			post("[]", accept), post(`[{"jsonrpc":"2.0","method":"accepted"}]`, accept))
	}
	for _, session := range []string{"none", "full", "method", "ok"} {
		requests = append(requests, strings.Replace(get, "s1", session, 1), "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: "+session+"\r\n\r\n")
	}
	for _, version := range []string{"1.1", "1.0"} {
		for _, request := range requests {
			request = strings.Replace(request, "HTTP/1.1", "HTTP/"+version, 1)
			direct, relayed := dial(t, w.direct), dial(t, w.first)
			for range 2 {
				head, body, whole := direct.send(request).read()
				gotHead, gotBody, gotWhole := relayed.send(request).read()
				if gotHead != head || gotBody != body || gotWhole != whole {
					t.Errorf("%q:\ngot  %q %.300q %v\nwant %q %.300q %v", request, gotHead, gotBody, gotWhole, head, body, whole)
				}
				if strings.Contains(head, "Connection: close") || version == "1.0" {
					break
				}
			}
		}
	}
}

// A slow answer stays a JSON response unless the other node makes it a stream.
func TestSlowAnswer(t *testing.T) {
	w := newRig(t, answers(), nil)
	_, body, whole := dial(t, w.first).send(post(call("slow"))).read()
	if body != `{"jsonrpc":"2.0","id":1,"result":{}}` || !whole {
		t.Errorf("%q", body)
	}
}

func (w *rig) used() int64 { return w.relay.o.Budget.Used() }

// A large answer arrives whole, and the budget counts nothing afterward.
func TestLargeAnswer(t *testing.T) {
	large := bytes.Repeat([]byte("x"), 64<<20-200)
	w := newRig(t, handlerFunc{post: func(x *downstream.Exchange) {
		x.Answer(resultOf(x, `"`+string(large)+`"`))
	}}, nil)
	_, body, whole := dial(t, w.first).send(post(call("large"))).read()
	if len(body) != len(large)+len(`{"jsonrpc":"2.0","id":1,"result":""}`) || !whole {
		t.Errorf("%d bytes, %v", len(body), whole)
	}
	for deadline := time.Now().Add(10 * time.Second); w.used() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the budget counts %d bytes", w.used())
		}
	}
}
