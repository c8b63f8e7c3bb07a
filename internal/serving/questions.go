package serving

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"

	"goblin-actor/internal/client"
	"goblin-actor/internal/form"
	"goblin-actor/internal/status"
)

// maxQuestions limits the open questions of all calls made through the admin socket. The gateway limits the questions of
// each call, and how long a question stays open (parkedPerClient, parkedCall).
const maxQuestions = 256

// questions holds the open questions of calls made through the admin socket. The asker of a call removes the call's
// questions. The zero value is empty.
type questions struct {
	mu   sync.Mutex
	open map[string]chan<- status.UseAnswer // by UseQuestion.ID; capacity 1
}

// add opens a question. It returns an error if too many are open.
func (q *questions) add() (id string, answers <-chan status.UseAnswer, err error) {
	id = rand.Text()
	c := make(chan status.UseAnswer, 1)
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.open) >= maxQuestions {
		return "", nil, errors.New("too many questions to the consoles of this gateway are open")
	}
	if q.open == nil {
		q.open = map[string]chan<- status.UseAnswer{}
	}
	q.open[id] = c
	return id, c, nil
}

// remove closes a question.
func (q *questions) remove(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.open, id)
}

// answer passes an answer to the call that waits for it. A question can be answered only once.
func (q *questions) answer(a status.UseAnswer) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	c, ok := q.open[a.Question]
	if !ok {
		return status.ErrNoQuestion
	}
	delete(q.open, a.Question)
	c <- a
	return nil
}

// answer implements client.Answerer. It asks the caller, and waits for the answer until the request is withdrawn
// or the call ends.
func (a *asker) answer(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if method != form.MethodElicitation {
		return nil, &client.RPCError{Code: -32601, Message: "this client does not answer " + method}
	}
	ask, err := form.ParseElicitation(params)
	asked := status.UseQuestion{Message: ask.Message}
	switch {
	case err != nil:
	case ask.Mode == "url":
		_, err = ask.Page()
		asked.URL = ask.URL
	default:
		_, err = form.ParseForm(ask.Schema)
		asked.Schema = ask.Schema
	}
	if err != nil {
		return nil, &client.RPCError{Code: -32602, Message: err.Error()}
	}
	id, answers, err := a.questions.add()
	if err != nil {
		return nil, err
	}
	asked.ID = id
	a.send(status.UseEvent{Question: &asked})
	defer a.send(status.UseEvent{Closed: id})
	defer a.questions.remove(id)
	select {
	case given := <-answers:
		return json.Marshal(struct {
			Action  string          `json:"action"`
			Content json.RawMessage `json:"content,omitempty"`
		}{given.Action, given.Content})
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
