package serving

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"goblin-actor/internal/status"
)

const askName = `{"message":"who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`

// A question reaches the caller, and is answered once.
func TestQuestionIsAnsweredOnce(t *testing.T) {
	var q questions
	events := make(chan status.UseEvent, 2)
	a := &asker{questions: &q, tell: func(e status.UseEvent) { events <- e }}
	result := make(chan string, 1)
	go func() {
		raw, err := a.answer(t.Context(), "elicitation/create", json.RawMessage(askName))
		if err != nil {
			t.Error(err)
		}
		result <- string(raw)
	}()
	e := <-events
	if e.Question == nil || e.Question.Message != "who?" || len(e.Question.ID) < 20 || !strings.Contains(string(e.Question.Schema), "name") {
		t.Fatalf("event %+v", e)
	}
	if err := q.answer(status.UseAnswer{Question: "x", Action: status.Accept}); err != status.ErrNoQuestion {
		t.Errorf("another question: %v", err)
	}
	answer := status.UseAnswer{Question: e.Question.ID, Action: status.Accept, Content: json.RawMessage(`{"name":"Ugg"}`)}
	if err := q.answer(answer); err != nil {
		t.Error(err)
	}
	if got := <-result; got != `{"action":"accept","content":{"name":"Ugg"}}` {
		t.Error(got)
	}
	if e := <-events; e.Closed != answer.Question {
		t.Errorf("event %+v", e)
	}
	if err := q.answer(answer); err != status.ErrNoQuestion {
		t.Errorf("second answer: %v", err)
	}
}

// If several consoles answer a question at once, one answers it. The others get an error.
func TestQuestionIsAnsweredByOne(t *testing.T) {
	var q questions
	id, answers, err := q.add()
	if err != nil {
		t.Fatal(err)
	}
	const consoles = 8
	errs := make(chan error, consoles)
	for range consoles {
		go func() { errs <- q.answer(status.UseAnswer{Question: id, Action: status.Accept}) }()
	}
	told := 0
	for range consoles {
		if err := <-errs; errors.Is(err, status.ErrNoQuestion) {
			told++
		} else if err != nil {
			t.Error(err)
		}
	}
	if len(answers) != 1 || told != consoles-1 {
		t.Errorf("%d answers, and %d consoles were told", len(answers), told)
	}
}

// A question ends when the server withdraws it. After the end of a call, there are no events.
func TestQuestionIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q questions
		var events []status.UseEvent
		a := &asker{questions: &q, tell: func(e status.UseEvent) { events = append(events, e) }}
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("withdrawn")
		for range 2 {
			go func() {
				if _, err := a.answer(ctx, "elicitation/create", json.RawMessage(askName)); err != gone {
					t.Errorf("error %v", err)
				}
			}()
		}
		synctest.Wait()
		if len(q.open) != 2 || len(events) != 2 {
			t.Errorf("%d questions are open after %d events", len(q.open), len(events))
		}
		a.end()
		cancel(gone)
		synctest.Wait()
		if len(q.open) != 0 || len(events) != 2 {
			t.Errorf("%d questions are open after %d events", len(q.open), len(events))
		}
	})
}

// Requests that the console cannot answer are refused, and so are more questions than the limit.
func TestQuestionIsRefused(t *testing.T) {
	var q questions
	a := &asker{questions: &q, tell: func(status.UseEvent) { t.Error("a question was asked") }}
	for range maxQuestions {
		if _, _, err := q.add(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ method, params, want string }{
		{"sampling/createMessage", `{}`, "does not answer"},
		{"roots/list", `{}`, "does not answer"},
		{"elicitation/create", `[]`, "elicitation/create"},
		{"elicitation/create", `{"mode":"url","url":"javascript:x"}`, "http or https"},
		{"elicitation/create", `{"requestedSchema":7}`, "schema"},
		{"elicitation/create", askName, "too many questions"},
	} {
		if _, err := a.answer(t.Context(), c.method, json.RawMessage(c.params)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %s", c.method, c.params, err, c.want)
		}
	}
}
