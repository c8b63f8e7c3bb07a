package admin

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"goblin-actor/internal/decode"
	"goblin-actor/internal/status"
)

// maxAnswerBytes limits an event of a use.
const maxAnswerBytes = 16 << 20

// errNoAnswer is returned by Use if the stream ends before the answer.
var errNoAnswer = errors.New("the gateway ended before it answered; the call may have been executed")

// Use implements status.Source.
func (r *remote) Use(ctx context.Context, u status.Use, tell func(status.UseEvent)) (status.UseResult, error) {
	body, err := json.Marshal(u)
	if err != nil {
		return status.UseResult{}, err
	}
	verb := "call"
	switch {
	case u.Prompt != "":
		verb = "prompt"
	case u.URI != "":
		verb = "read"
	}
	req, err := r.request(ctx, http.MethodPost, "/actions/"+verb, body)
	if err != nil {
		return status.UseResult{}, err
	}
	req.Header.Set("Accept", eventStream)
	resp, err := r.http.Do(req)
	if err != nil {
		return status.UseResult{}, r.fault("query", cmp.Or(errors.Unwrap(err), err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusedBytes))
		return status.UseResult{}, &Refused{cmp.Or(strings.TrimSpace(string(text)), resp.Status), resp.StatusCode}
	}
	return readUse(resp.Body, tell)
}

// Answer implements status.Source.
func (r *remote) Answer(ctx context.Context, a status.UseAnswer) error {
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	_, err = r.do(ctx, http.MethodPost, "/actions/answer", body)
	if no, ok := errors.AsType[*Refused](err); ok {
		return no // without the prefix of do
	}
	return err
}

// readUse reads the events of a use.
func readUse(body io.Reader, tell func(status.UseEvent)) (answer status.UseResult, err error) {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxAnswerBytes)
	event := ""
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case key == "event":
			event = value
		case key != "data":
		case event == eventAnswer:
			return answer, decode.JSON([]byte(value), "the answer", &answer)
		case event == eventNoAnswer:
			var text string
			if err := decode.JSON([]byte(value), "the error", &text); err != nil {
				return answer, err
			}
			return answer, &Refused{Text: text}
		default:
			e, err := useEvent(event, []byte(value))
			if err != nil {
				return answer, err
			}
			if tell != nil && e != (status.UseEvent{}) {
				tell(e)
			}
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return answer, fmt.Errorf("the answer is larger than %d MiB, the limit of the console; the call may have been executed; the form's command line shows larger answers in a shell, but executes the call again", maxAnswerBytes>>20)
	}
	return answer, cmp.Or(lines.Err(), errNoAnswer)
}

// useEvent decodes an event other than the last one. For an unknown event, which a newer gateway may send, it returns the zero UseEvent.
func useEvent(event string, data []byte) (e status.UseEvent, err error) {
	switch event {
	case eventProgress:
		e.Progress = new(status.UseProgress)
		err = decode.JSON(data, "the progress", e.Progress)
	case eventQuestion:
		e.Question = new(status.UseQuestion)
		err = decode.JSON(data, "the question", e.Question)
	case eventClosed:
		err = decode.JSON(data, "the question's id", &e.Closed)
	}
	return e, err
}

// request returns a request to the socket.
func (r *remote) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://admin"+path, bytes.NewReader(body))
	if err == nil && r.readOnly {
		req.Header.Set(headerReadOnly, "true")
	}
	return req, err
}
