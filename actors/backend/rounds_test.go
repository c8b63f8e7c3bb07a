package backend

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
)

const allQuestions = `{"resultType":"input_required","inputRequests":{` +
	`"who":{"method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object"}}},` +
	`"visit":{"method":"elicitation/create","params":{"mode":"url","url":"https://example.invalid/","message":"go"}},` +
	`"think":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}},` +
	`"where":{"method":"roots/list"}},"requestState":"state-1"}`

const finished = `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`

// rounds returns a modern server that answers the n-th call, from 0, with the n-th result, and further calls with the last.
func rounds(results ...string) *actortest.Modern {
	n := 0
	return &actortest.Modern{Tools: []string{"add"}, Handle: func(g actortest.Message) {
		g.Result(results[min(n, len(results)-1)])
		n++
	}}
}

// answer answers a question of the backend.
func (b *bench) answer(ask message.ServerRequest, result, err string) {
	a := message.ServerRequestResult{Key: ask.Key}
	if err != "" {
		a.Error = []byte(err)
	} else {
		a.Result = []byte(result)
	}
	b.backend.Tell(a)
	synctest.Wait()
}

// A legacy client is asked all questions at once. Then the request is sent again with the answers and the requestState.
// MCP 2026-07-28, basic/patterns/mrtr.
func TestQuestionsOfAModernServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := rounds(allQuestions, `{"resultType":"input_required","inputRequests":{"more":{"method":"elicitation/create","params":{"message":"more?"}}}}`, finished)
		b := modern(t, server)
		defer b.stop()
		b.pool.Got()
		b.call(1, legacyRequest(t, message.CanAll))
		ends, asks := b.outcomes()
		if len(ends) != 0 || len(asks) != 4 {
			t.Fatalf("holder got %v and %d questions, want 4 questions", ends, len(asks))
		}
		var methods []string
		for _, a := range asks {
			methods = append(methods, a.Frame.MethodText())
		}
		if want := []string{"elicitation/create", "elicitation/create", "sampling/createMessage", "roots/list"}; !slices.Equal(methods, want) {
			t.Errorf("questions %v, want %v", methods, want)
		}
		if !strings.Contains(string(asks[1].Frame.Raw), `"elicitationId":"`) {
			t.Errorf("no elicitationId for a legacy client: %s", asks[1].Frame.Raw)
		}
		b.answer(asks[3], `{"roots":[]}`, "")
		b.answer(asks[0], "", `{"code":-1,"message":"dismissed"}`)
		b.answer(asks[2], `{"role":"assistant"}`, "")
		b.answer(asks[2], `{"role":"twice"}`, "")
		if n := len(server.Received("tools/call")); n != 1 {
			t.Fatalf("%d requests before every question was answered, want 1", n)
		}
		b.answer(asks[1], `{"action":"accept"}`, "")
		calls := server.Received("tools/call")
		if len(calls) != 2 {
			t.Fatalf("%d requests, want 2", len(calls))
		}
		again := string(calls[1].Frame.Raw)
		want := `"inputResponses":{"who":{"action":"cancel"},"visit":{"action":"accept"},"think":{"role":"assistant"},"where":{"roots":[]}}`
		if !strings.Contains(again, want) || !strings.Contains(again, `"requestState":"state-1"`) || string(calls[1].ID()) == string(calls[0].ID()) {
			t.Errorf("the second request\n%s lacks the answers, the requestState or a new id", again)
		}
		_, asks = b.outcomes()
		if len(asks) != 1 {
			t.Fatalf("%d questions in the second round, want 1", len(asks))
		}
		b.answer(asks[0], `{"action":"decline"}`, "")
		calls = server.Received("tools/call")
		if third := string(calls[2].Frame.Raw); strings.Contains(third, "requestState") || strings.Contains(third, `"who"`) {
			t.Errorf("the third request %s has answers of the first round", third)
		}
		msgs := b.holder.Got()
		done, ok := msgs[len(msgs)-1].(message.Done)
		if !ok || string(done.Frame.ResultBytes()) != `{"content":[{"type":"text","text":"done"}]}` {
			t.Errorf("holder got %+v last, want the result", msgs[len(msgs)-1])
		}
		if _, ok := msgs[len(msgs)-2].(message.ElicitationDone); !ok {
			t.Errorf("holder got %T before the result, want ElicitationDone", msgs[len(msgs)-2])
		}
		var parked []bool
		ended := 0
		for _, msg := range b.pool.Got() {
			switch m := msg.(type) {
			case message.CallParked:
				parked = append(parked, m.Yes)
			case message.UnattributedRequest:
				t.Error("a modern server's question was unattributed")
			case message.CallEnded:
				ended++
			}
		}
		if !slices.Equal(parked, []bool{true, false, true, false}) || ended != 1 {
			t.Errorf("pool got parked %v and %d CallEnded, want [true false true false] and 1", parked, ended)
		}
	})
}

// The server's progress starts again with every request, but for a legacy client it is one call and progress must increase.
func TestProgressIncreasesOverRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		server := &actortest.Modern{Tools: []string{"add"}, Handle: func(g actortest.Message) {
			n++
			for step := 1; step <= n+1; step++ {
				g.Notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d}`, g.ID(), step))
			}
			if n < 3 {
				g.Result(`{"resultType":"input_required","requestState":"again"}`)
				return
			}
			g.Result(finished)
		}}
		b := modern(t, server)
		defer b.stop()
		b.call(1, legacyRequest(t, message.CanAll))
		time.Sleep(2 * time.Second) // the pauses between requests without a question
		synctest.Wait()
		var got []string
		for _, msg := range b.holder.Got() {
			if p, ok := msg.(message.Progress); ok && !p.Behind {
				got = append(got, string(p.Frame.Raw[strings.Index(string(p.Frame.Raw), `"progress":`):]))
			}
		}
		if want := []string{`"progress":1}}`, `"progress":2}}`, `"progress":3}}`, `"progress":4}}`}; !slices.Equal(got, want) {
			t.Errorf("progress %v, want %v", got, want)
		}
	})
}

// Input responses cannot contain errors, so an error in response to sampling or roots fails the call.
func TestClientRefusesSampling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := rounds(allQuestions)
		b := modern(t, server)
		defer b.stop()
		b.call(1, legacyRequest(t, message.CanAll))
		_, asks := b.outcomes()
		b.answer(asks[2], "", `{"code":-1,"message":"User rejected sampling request"}`)
		ends, _ := b.outcomes()
		if want := `1 {"code":-1,"message":"User rejected sampling request"}`; !slices.Equal(ends, []string{want}) {
			t.Errorf("holder got %v, want %s", ends, want)
		}
		b.answer(asks[0], `{"action":"accept"}`, "") // too late
		if n := len(server.Received("tools/call")); n != 1 {
			t.Errorf("the server got %d requests, want 1", n)
		}
	})
}

// For a client without roots, the configured roots are the answer.
func TestRootsOfTheConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := rounds(`{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list","params":{}}},"requestState":"s"}`, finished)
		b := modern(t, server)
		defer b.stop()
		b.call(1, legacyRequest(t, 0))
		ends, asks := b.outcomes()
		if len(asks) != 0 || len(ends) != 1 {
			t.Fatalf("holder got %v and %d questions, want one result and no question", ends, len(asks))
		}
		if again := string(server.Received("tools/call")[1].Frame.Raw); !strings.Contains(again, `"inputResponses":{"r":{"roots":[{"uri":"file:///srv"}]}}`) {
			t.Errorf("second request %s", again)
		}
	})
}

// A server that asks for the request again without questions gets it up to three more times, with growing pauses.
func TestRoundsWithoutQuestions(t *testing.T) {
	state := `{"resultType":"input_required","requestState":"s"}`
	synctest.Test(t, func(t *testing.T) {
		server := rounds(state, state, state, finished)
		b := modern(t, server)
		defer b.stop()
		b.call(1, legacyRequest(t, 0))
		for i, pause := range []time.Duration{emptyPause, 4 * emptyPause, 16 * emptyPause} {
			time.Sleep(pause - 1)
			synctest.Wait()
			if n := len(server.Received("tools/call")); n != i+1 {
				t.Fatalf("pause %d: %d requests before its end", i, n)
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
		}
		if ends, _ := b.outcomes(); len(ends) != 1 || !strings.Contains(ends[0], "done") {
			t.Errorf("holder got %v, want the result", ends)
		}
		if again := string(server.Received("tools/call")[1].Frame.Raw); strings.Contains(again, "inputResponses") {
			t.Errorf("input responses without a question: %s", again)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		server := rounds(state)
		b := modern(t, server)
		defer b.stop()
		b.call(1, legacyRequest(t, 0))
		time.Sleep(time.Hour)
		synctest.Wait()
		if ends, _ := b.outcomes(); len(ends) != 1 || !strings.Contains(ends[0], "without asking for input") || len(server.Received("tools/call")) != 4 {
			t.Errorf("holder got %v after %d requests, want a fault after 4", ends, len(server.Received("tools/call")))
		}
	})
}

// The number of rounds of a call is limited.
func TestRoundsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := rounds(`{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{}}}}`)
		b := modern(t, server)
		defer b.stop()
		b.call(1, legacyRequest(t, message.CanForm))
		asked := 0
		for range 20 {
			ends, asks := b.outcomes()
			if len(ends) > 0 {
				if asked != maxRounds || !strings.Contains(ends[0], "without answering the call") {
					t.Errorf("%v after %d rounds, want a fault after %d", ends, asked, maxRounds)
				}
				return
			}
			asked += len(asks)
			b.answer(asks[0], `{"action":"accept"}`, "")
		}
		t.Error("the rounds did not end")
	})
}

// While the client has not answered a question, no request is pending at the server, so the call survives the loss of
// the connection.
func TestQuestionSurvivesTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := rounds(allQuestions, finished)
		b := modern(t, server)
		defer b.stop()
		b.call(1, legacyRequest(t, message.CanAll))
		_, asks := b.outcomes()
		server.Last().Close(errors.New("exit status 1"))
		synctest.Wait()
		for _, a := range asks {
			b.answer(a, `{"action":"accept"}`, "")
		}
		if ends, _ := b.outcomes(); len(ends) != 0 {
			t.Fatalf("holder got %v while the server was unavailable", ends)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if ends, _ := b.outcomes(); len(ends) != 1 || !strings.Contains(ends[0], "done") {
			t.Errorf("holder got %v, want the result from the new connection", ends)
		}
	})
}

// A call that is canceled during its questions ends, and later answers are ignored.
func TestCancelDuringQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := rounds(allQuestions)
		b := modern(t, server)
		defer b.stop()
		b.pool.Got()
		b.call(1, legacyRequest(t, message.CanAll))
		_, asks := b.outcomes()
		b.backend.Tell(message.CancelSent{Call: message.CallRef{Holder: b.holder.Reference, Seq: 1}})
		synctest.Wait()
		for _, a := range asks {
			b.answer(a, `{"action":"accept"}`, "")
		}
		if n := len(server.Received("tools/call")); n != 1 {
			t.Errorf("the server got %d requests, want 1", n)
		}
		if n := len(actortest.Of[message.CallEnded](b.pool)); n != 1 {
			t.Errorf("pool got %d CallEnded, want 1", n)
		}
		if ends, _ := b.outcomes(); len(ends) != 0 {
			t.Errorf("holder got %v for a canceled call, want nothing", ends)
		}
	})
}

// Calls that wait for answers fail when the backend stops.
func TestStopFailsWaitingCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := modern(t, rounds(allQuestions))
		b.call(1, legacyRequest(t, message.CanAll))
		b.outcomes()
		b.backend.Tell(message.Stop{Reason: "restart"})
		synctest.Wait()
		if ends, _ := b.outcomes(); len(ends) != 1 || !strings.Contains(ends[0], "SHUTTING_DOWN") {
			t.Errorf("holder got %v, want one SHUTTING_DOWN", ends)
		}
		b.stop()
	})
}

// A draining backend waits for the answers to its calls' questions.
func TestDrainWaitsForAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := modern(t, rounds(`{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{}}}}`, finished))
		defer b.stop()
		b.call(1, legacyRequest(t, message.CanForm))
		_, asks := b.outcomes()
		b.backend.Tell(message.Drain{})
		synctest.Wait()
		if p := b.phases(); fmt.Sprint(p) != "[draining]" {
			t.Fatalf("phases %v, want draining", p)
		}
		b.answer(asks[0], `{"action":"accept"}`, "")
		if ends, _ := b.outcomes(); len(ends) != 1 || !strings.Contains(ends[0], "done") {
			t.Errorf("holder got %v, want the result", ends)
		}
		if p := b.phases(); fmt.Sprint(p) != "[stopped]" {
			t.Errorf("phases %v, want stopped", p)
		}
	})
}
