package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"goblin-actor/internal/decode"
	"goblin-actor/internal/status"
)

// maxUseBytes limits the body of /actions/call, /actions/prompt and /actions/read.
const maxUseBytes = 4 << 20

// useExamples holds a body for each verb.
var useExamples = map[string]string{
	"call":   `{"tool": "files_read", "arguments": {}}`,
	"prompt": `{"prompt": "notes_summarize", "arguments": {}}`,
	"read":   `{"uri": "resource://files/…"}`,
}

// use performs a status.Use and answers 200 with its UseResult, or with events if the client accepts them. If the client
// disconnects, the call is canceled.
func use(src status.Source, user status.UseFunc, verb string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var u status.Use
		err := decode.Reader(http.MaxBytesReader(w, r.Body, maxUseBytes), "the body", &u)
		if err == nil {
			err = checkUse(u, verb)
		}
		if err != nil {
			http.Error(w, fmt.Sprintf("%v; send an object such as %s", err, useExamples[verb]), http.StatusBadRequest)
			return
		}
		if strings.Contains(r.Header.Get("Accept"), eventStream) {
			streamUse(w, r, src, u)
			return
		}
		answer, err := user(r.Context(), u, nil)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		writeJSON(w, http.StatusOK, answer, r.URL.Query().Has("pretty"))
	}
}

// checkUse returns an error if u is not a use of this verb.
func checkUse(u status.Use, verb string) error {
	of := map[string]string{"call": u.Tool, "prompt": u.Prompt, "read": u.URI}
	for other, name := range of {
		if (name != "") != (other == verb) {
			return fmt.Errorf("the body does not describe a %s", verb)
		}
	}
	if len(u.Arguments) > 0 && !strings.HasPrefix(string(u.Arguments), "{") {
		return fmt.Errorf("arguments in the body must be an object")
	}
	return nil
}

// Events of a streamed use.
const (
	eventStream   = "text/event-stream"
	eventProgress = "progress" // a status.UseProgress
	eventQuestion = "question" // a status.UseQuestion
	eventClosed   = "closed"   // a text: ID of a question that can no longer be answered
	eventAnswer   = "answer"   // a status.UseResult; the last event
	eventNoAnswer = "fault"    // a text: why there is no answer; the last event
)

// streamUse performs a Use for display. It sends progress, questions and the answer as events, without known secrets.
func streamUse(w http.ResponseWriter, r *http.Request, src status.Source, u status.Use) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	w.Header().Set("Content-Type", eventStream)
	control := http.NewResponseController(w)
	send := func(event string, v any) {
		data, err := json.Marshal(v)
		if err == nil {
			_ = control.SetWriteDeadline(time.Now().Add(writeTime)) // not supported in tests
			_, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, data)
		}
		if err != nil || control.Flush() != nil {
			cancel() // the client is gone, or does not read
		}
	}
	answer, err := src.Use(ctx, u, func(e status.UseEvent) {
		switch {
		case e.Progress != nil:
			send(eventProgress, e.Progress)
		case e.Question != nil:
			send(eventQuestion, e.Question)
		default:
			send(eventClosed, e.Closed)
		}
	})
	if err != nil {
		send(eventNoAnswer, err.Error())
		return
	}
	send(eventAnswer, answer)
}

// answerQuestion answers a question of a streamed use.
func answerQuestion(src status.Source) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), statusTimeout)
		defer cancel()
		var a status.UseAnswer
		err := decode.Reader(http.MaxBytesReader(w, r.Body, maxUseBytes), "the body", &a)
		if err == nil {
			err = checkAnswer(a)
		}
		if err != nil {
			http.Error(w, fmt.Sprintf(`%v; send an object such as {"question": "…", "action": "accept", "content": {}}`, err), http.StatusBadRequest)
			return
		}
		switch err := src.Answer(ctx, a); {
		case err == nil:
			w.WriteHeader(http.StatusNoContent)
		case errors.Is(err, status.ErrNoQuestion):
			http.Error(w, err.Error(), http.StatusNotFound)
		default:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	}
}

// checkAnswer returns an error if a is not an answer that MCP permits.
func checkAnswer(a status.UseAnswer) error {
	switch {
	case a.Question == "":
		return errors.New("the body has no member question")
	case a.Action != status.Accept && a.Action != status.Decline && a.Action != status.Dismiss:
		return fmt.Errorf("action %q in the body is not accept, decline or cancel", a.Action)
	case len(a.Content) > 0 && (a.Action != status.Accept || !strings.HasPrefix(string(a.Content), "{")):
		return errors.New("content in the body must be an object, and is allowed only with the action accept")
	}
	return nil
}
