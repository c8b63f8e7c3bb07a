package backend

import (
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

// followedCall returns a legacy server that creates tasks on request, and a backend with a call for which the gateway
// requests one. The returned function answers tasks/result with the given member.
func followedCall(t *testing.T, r *message.Request) (b *bench, server *actortest.Server, ends func(member string)) {
	t.Helper()
	var waiting []byte
	server = &actortest.Server{Tools: []string{"add"}, Tasks: true}
	server.Handle = func(p *pipe.Peer, f protocol.Frame, id []byte) {
		switch f.Method {
		case protocol.MethodToolsCall:
			_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"task":{"taskId":"a","status":"working","pollInterval":2000}}`)))
		case protocol.MethodTasksResult:
			waiting = id
		case protocol.MethodTasksGet:
			_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"taskId":"a","status":"working","statusMessage":"digging"}`)))
		}
	}
	b = start(t, server, cfg())
	synctest.Wait()
	r.Followed()
	b.pool.Got()
	b.call(1, r)
	return b, server, func(member string) {
		_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","id":` + string(waiting) + `,` + member + `}`))
		synctest.Wait()
	}
}

// A client without tasks can call a tool that requires them: it gets progress, the task's server requests, and the
// task's result or error.
func TestTaskForAClientWithoutTasks(t *testing.T) {
	for _, test := range []struct {
		name    string
		request func(*testing.T) *message.Request
		member  string
		want    string
	}{
		{"legacy", func(t *testing.T) *message.Request { return legacyRequest(t, message.CanForm) }, `"result":{"content":[]}`, `1 {"content":[]}`},
		{"legacy, failed", func(t *testing.T) *message.Request { return legacyRequest(t, message.CanForm) }, `"error":{"code":-7,"message":"no"}`, `1 {"code":-7,"message":"no"}`},
		{"modern", func(t *testing.T) *message.Request { return modernRequest(t, "") }, `"result":{"content":[]}`, `1 {"content":[]}`},
		{"a task again", func(t *testing.T) *message.Request { return legacyRequest(t, message.CanForm) }, `"result":{"task":{"taskId":"b"}}`, `1 {"task":{"taskId":"b"}}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			b, server, ends := followedCall(t, test.request(t))
			defer b.stop()
			call := server.Received("tools/call")[0]
			if raw := string(call.Raw); !strings.Contains(raw, `"task":{}`) || !strings.Contains(raw, `"name":"add"`) {
				t.Errorf("%s: sent %s", test.name, raw)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(call.IDBytes()) + `,"progress":9}}`))
			_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}}}}`))
			synctest.Wait()
			var told []string
			var asked []message.ServerRequest
			for _, msg := range b.holder.Got() {
				switch m := msg.(type) {
				case message.Progress:
					told = append(told, string(m.Frame.ParamsBytes()))
				case message.ServerRequest:
					asked = append(asked, m)
				}
			}
			if !slices.Equal(told, []string{`{"progressToken":0,"progress":1,"message":"digging"}`, `{"progressToken":` + string(call.IDBytes()) + `,"progress":9}`}) {
				t.Errorf("%s: progress %q", test.name, told)
			}
			if len(asked) != 1 || asked[0].Seq != 1 {
				t.Fatalf("%s: questions %+v", test.name, asked)
			}
			b.answer(asked[0], `{"action":"decline"}`, "")
			ends(test.member)
			if got, _ := b.outcomes(); !slices.Equal(got, []string{test.want}) || len(server.Answers()) != 1 {
				t.Errorf("%s: got %q, want %s; %d answers to the task's question", test.name, got, test.want, len(server.Answers()))
			}
			gets := len(server.Received("tasks/get"))
			time.Sleep(time.Minute)
			synctest.Wait()
			if n := len(server.Received("tasks/get")); n != gets || len(server.Received("tasks/result")) != 1 {
				t.Errorf("%s: the task is polled after its end", test.name)
			}
		})
	}
}

// A canceled call cancels its task. A call whose server is lost fails and is not sent again.
func TestEndOfAFollowedTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, server, _ := followedCall(t, legacyRequest(t, message.CanForm))
		defer b.stop()
		b.backend.Tell(message.CancelSent{Call: message.CallRef{Holder: b.holder.Reference, Seq: 1}})
		synctest.Wait()
		if got := server.Received("tasks/cancel"); len(got) != 1 || !strings.Contains(string(got[0].Raw), `"taskId":"a"`) || len(server.Received("notifications/cancelled")) != 1 {
			t.Errorf("%d tasks/cancel sent", len(got))
		}
		r := legacyRequest(t, message.CanForm)
		r.Followed()
		b.call(2, r)
		server.Last().Close(io.EOF)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got, _ := b.outcomes(); len(got) != 1 || !strings.HasPrefix(got[0], "2 BACKEND_DISCONNECTED") || len(server.Received("tools/call")) != 2 {
			t.Errorf("got %q after %d calls", got, len(server.Received("tools/call")))
		}
		if n := len(actortest.Of[message.CallEnded](b.pool)); n != 2 {
			t.Errorf("pool got %d CallEnded, want 2", n)
		}
	})
}

// The client's progress increases, whether it comes from polls or from the server. Progress that does not increase only
// keeps the call alive.
func TestProgressOfAFollowedTaskIncreases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, server, ends := followedCall(t, legacyRequest(t, 0))
		defer b.stop()
		token := string(server.Received("tools/call")[0].IDBytes())
		report := func(n string) {
			_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":` + n + `}}`))
			synctest.Wait()
		}
		time.Sleep(3500 * time.Millisecond) // two polls
		report("1")
		report("7.5")
		time.Sleep(time.Second)
		report("7.5")
		report("1e300")
		var told, life []string
		for _, m := range actortest.Of[message.Progress](b.holder) {
			value := string(rawjson.Member(m.Frame.Raw, m.Frame.Params, "progress").Of(m.Frame.Raw))
			if m.Behind {
				life = append(life, value)
			} else {
				told = append(told, value)
			}
		}
		if want := []string{"1", "2", "7.5", "1e300"}; !slices.Equal(told, want) {
			t.Errorf("progress %v, want %v", told, want)
		}
		if want := []string{"1", "8", "7.5"}; !slices.Equal(life, want) {
			t.Errorf("progress behind the client's: %v, want %v", life, want)
		}
		ends(`"result":{"content":[]}`)
	})
}

// Each heartbeat raises the progress to the next integer, as far as floating-point numbers allow.
func TestHeartbeatsIncrease(t *testing.T) {
	f := actortest.Frame(t, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	for _, c := range []struct {
		reached, want float64
		text          string
		behind        bool
	}{{0, 1, "1", false}, {0.5, 1, "1", false}, {50, 51, "51", false}, {999999, 1e6, "1e+06", false}, {1e300, 1e300, "1e+300", true}} {
		got, out := heartbeat(message.CallRef{}, c.reached, false, &f, nil)
		m := out[0].Msg.(message.Progress)
		if text := string(rawjson.Member(m.Frame.Raw, m.Frame.Params, "progress").Of(m.Frame.Raw)); got != c.want || text != c.text || m.Behind != c.behind {
			t.Errorf("after %v: %v, params %s, behind %v; want %v, %s, %v", c.reached, got, text, m.Behind, c.want, c.text, c.behind)
		}
	}
}

// If the response ends before the task, the result is requested again, at most maxFailures times without a status of
// the task in between. After that, or after an HTTP error or a response that is too large, the call fails and the task
// is canceled.
func TestResponseOfAFollowedTaskBreaks(t *testing.T) {
	for _, c := range []struct {
		name   string
		looks  bool // the server reports the task's status
		err    error
		breaks int
		want   string // how the call ends; "" = with the task's result
	}{
		{"the task is running", true, upstream.ErrNoAnswer, 10, ""},
		{"as many failures as allowed", false, upstream.ErrNoAnswer, maxFailures, ""},
		{"one failure more", false, upstream.ErrNoAnswer, maxFailures + 1, "1 BACKEND_DISCONNECTED"},
		{"a response with status 500", true, &upstream.StatusError{Code: 500}, 1, "1 BACKEND_DISCONNECTED"},
		{"a response that is too large", true, stream.ErrFrameTooLarge, 1, "1 MESSAGE_TOO_LARGE"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b, server, ends := followedCall(t, legacyRequest(t, 0))
			defer b.stop()
			for range c.breaks {
				waits := server.Received("tasks/result")
				ticket, _ := parseID(waits[len(waits)-1].IDBytes())
				_ = server.Last().Tell(upstream.Ended{Ticket: uint64(ticket), Err: c.err})
				synctest.Wait()
				if c.looks {
					time.Sleep(firstPoll + time.Millisecond)
				}
			}
			want, cancelled := c.want, 1
			if want == "" {
				want, cancelled = `1 {"content":[]}`, 0
				ends(`"result":{"content":[]}`)
			}
			if got, _ := b.outcomes(); len(got) != 1 || !strings.HasPrefix(got[0], want) {
				t.Errorf("%s: got %q, want %s", c.name, got, want)
			}
			if n := len(server.Received("tasks/cancel")); n != cancelled || len(server.Received("tools/call")) != 1 {
				t.Errorf("%s: %d tasks/cancel sent, want %d", c.name, n, cancelled)
			}
			if n := len(actortest.Of[message.CallEnded](b.pool)); n != 1 {
				t.Errorf("%s: pool got %d CallEnded, want 1", c.name, n)
			}
		})
	}
}
