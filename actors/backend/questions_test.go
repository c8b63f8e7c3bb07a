package backend

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream/pipe"
)

// asking returns a legacy server on stdio that does not answer calls, and a function that makes it ask a question.
func asking() (server *actortest.Server, elicit func(id string)) {
	server = &actortest.Server{Tools: []string{"add"}, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}}
	return server, func(id string) {
		_ = server.Last().Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"method":"elicitation/create","params":{"message":"?"}}`, id))
		synctest.Wait()
	}
}

// parkedOf returns the CallParked messages to the pool, and the number of UnattributedRequest messages.
func (b *bench) parkedOf() (list []string, unattributed int) {
	for _, msg := range b.pool.Got() {
		switch m := msg.(type) {
		case message.CallParked:
			list = append(list, fmt.Sprintf("%d %v", m.Call.Seq, m.Yes))
		case message.UnattributedRequest:
			unattributed++
		}
	}
	return list, unattributed
}

// Questions in a burst belong to one call, although none of them names it: no other call is sent until the burst is over.
// go-sdk asks up to three at once.
func TestQuestionsInABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, elicit := asking()
		b := start(t, server, cfg())
		defer b.stop()
		synctest.Wait()
		b.pool.Got()
		elicit("stray") // without a call, the question does not show how the server asks during calls
		if list, lease := b.parkedOf(); len(list) != 0 || lease != 0 || len(server.Answers()) != 1 {
			t.Fatalf("after a question without a call: parked %v, %d unattributed; want none", list, lease)
		}
		b.call(1, legacyRequest(t, message.CanForm))
		b.pool.Got()
		elicit("a")
		if list, lease := b.parkedOf(); len(list) != 0 || lease != 1 {
			t.Fatalf("after the first question: parked %v, %d unattributed; want none and 1", list, lease)
		}
		time.Sleep(burst)
		synctest.Wait()
		if list, _ := b.parkedOf(); !slices.Equal(list, []string{"1 true"}) {
			t.Fatalf("after the burst: parked %v", list)
		}
		b.call(2, legacyRequest(t, message.CanForm))
		elicit("b")
		elicit("c")
		time.Sleep(burst)
		synctest.Wait()
		elicit("d") // two calls wait for answers, so the call is unknown
		if list, lease := b.parkedOf(); !slices.Equal(list, []string{"2 true"}) || lease != 3 {
			t.Errorf("parked %v, %d unattributed; want 2 true and 3", list, lease)
		}
		_, asks := b.outcomes()
		var of []uint64
		for _, a := range asks {
			of = append(of, a.Seq)
		}
		if !slices.Equal(of, []uint64{1, 2, 2}) {
			t.Fatalf("questions of calls %v, want 1, 2, 2", of)
		}
		answers := server.Answers()
		if len(answers) != 2 || string(answers[1].IDBytes()) != `"d"` || answers[1].Kind != protocol.KindError {
			t.Errorf("the server got %v, want d refused, too", answers)
		}
		b.answer(asks[1], `{"action":"accept"}`, "")
		elicit("e") // the call that was just answered continues, with its other question open
		_, asks = b.outcomes()
		if len(asks) != 1 || asks[0].Seq != 2 {
			t.Errorf("questions %v, want one of call 2", asks)
		}
	})
}

// While another principal's call waits for an answer, a question without a call may belong to it, so no client is asked.
func TestQuestionWithCallsOfTwoPrincipals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, elicit := asking()
		b := start(t, server, cfg())
		defer b.stop()
		synctest.Wait()
		of := func(principal string) *message.Request {
			r := legacyRequest(t, message.CanForm)
			caller := *r.Caller
			caller.Principal = principal
			r.Caller = &caller
			return r
		}
		b.call(1, of("key:ada"))
		elicit("a")
		time.Sleep(burst)
		synctest.Wait()
		b.call(2, of("key:ben"))
		elicit("b")
		_, asks := b.outcomes()
		if len(asks) != 1 || asks[0].Seq != 1 {
			t.Fatalf("questions %v, want one of call 1", asks)
		}
		if answers := server.Answers(); len(answers) != 1 || string(answers[0].IDBytes()) != `"b"` || answers[0].Kind != protocol.KindError {
			t.Errorf("the server got %v, want b refused", answers)
		}
	})
}

// A call whose question is answered within the burst is not parked.
func TestAnsweredWithinTheBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, elicit := asking()
		b := start(t, server, cfg())
		defer b.stop()
		synctest.Wait()
		b.call(1, legacyRequest(t, message.CanForm))
		elicit("a")
		_, asks := b.outcomes()
		b.answer(asks[0], `{"action":"accept"}`, "")
		time.Sleep(burst)
		synctest.Wait()
		if list, _ := b.parkedOf(); len(list) != 0 {
			t.Errorf("pool got %v", list)
		}
	})
}

// From the second round on, go-sdk asks legacy clients with a result without resultType. A modern client gets a proper
// input_required result, unless the result has content.
func TestInputRequiredWithoutResultType(t *testing.T) {
	const leaked = `"requestState":"r2","inputRequests":{"k":{"method":"elicitation/create","params":{}}}`
	for result, want := range map[string]string{
		`{"content":[],` + leaked + `}`:                           `1 {"resultType":"input_required","content":[],` + leaked + `}`,
		`{"content":null,` + leaked + `}`:                         `1 {"resultType":"input_required","content":null,` + leaked + `}`,
		`{"content":[{"type":"text","text":"x"}],` + leaked + `}`: `1 {"content":[{"type":"text","text":"x"}],` + leaked + `}`,
		`{"content":[]}`:                                          `1 {"content":[]}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			server := &actortest.Server{Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
				_ = p.Send(protocol.AppendResult(nil, id, []byte(result)))
			}}
			b := start(t, server, cfg())
			defer b.stop()
			synctest.Wait()
			b.call(1, modernRequest(t, ""))
			if ends, _ := b.outcomes(); strings.Join(ends, "\n") != want {
				t.Errorf("%s: holder got %v, want %s", result, ends, want)
			}
		})
	}
}
