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
func (r *remote) Use(ctx context.Context, u status.Use, progress func(status.UseProgress)) (status.UseResult, error) {
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
		return status.UseResult{}, &Refused{cmp.Or(strings.TrimSpace(string(text)), resp.Status)}
	}
	return readUse(resp.Body, progress)
}

// readUse reads the events of a use.
func readUse(body io.Reader, progress func(status.UseProgress)) (answer status.UseResult, err error) {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxAnswerBytes)
	event := ""
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case key == "event":
			event = value
		case key != "data":
		case event == eventProgress:
			var p status.UseProgress
			if err := decode.JSON([]byte(value), "the progress", &p); err != nil {
				return answer, err
			}
			if progress != nil {
				progress(p)
			}
		case event == eventAnswer:
			return answer, decode.JSON([]byte(value), "the answer", &answer)
		case event == eventNoAnswer:
			var text string
			if err := decode.JSON([]byte(value), "the error", &text); err != nil {
				return answer, err
			}
			return answer, &Refused{text}
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return answer, fmt.Errorf("the answer is larger than %d MiB; run the command in a shell instead", maxAnswerBytes>>20)
	}
	return answer, cmp.Or(lines.Err(), errNoAnswer)
}

// request returns a request to the socket.
func (r *remote) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://admin"+path, bytes.NewReader(body))
	if err == nil && r.readOnly {
		req.Header.Set(headerReadOnly, "true")
	}
	return req, err
}
