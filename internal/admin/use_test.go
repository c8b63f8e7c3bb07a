package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"goblin-actor/internal/status"
)

// A call, prompt or read is passed to the UseFunc unchanged, and its result is returned. Invalid bodies are answered with an
// example.
func TestUse(t *testing.T) {
	var got status.Use
	h := private(local(fixedStatus{s: &status.Snapshot{}}), func(_ context.Context, u status.Use, _ func(status.UseEvent)) (status.UseResult, error) {
		got = u
		switch u.Tool + u.Prompt + u.URI {
		case "gone":
			return status.UseResult{}, errors.New("the gateway is stopping")
		case "missing":
			return status.UseResult{Error: json.RawMessage(`{"code":-31001}`)}, nil
		}
		return status.UseResult{Result: json.RawMessage(`{"n":1e400}`)}, nil
	}, nil)
	for _, c := range []struct {
		verb, body string
		code       int
		want       string // part of the response
		args       string
	}{
		{"call", `{"tool":"a","arguments":{"n":12345678901234567890}}`, 200, `{"result":{"n":1e400}}`, `{"n":12345678901234567890}`},
		{"call", `{"tool":"a"}`, 200, `{"result":{"n":1e400}}`, ""},
		{"read", `{"uri":"notes://x"}`, 200, `{"result":{"n":1e400}}`, ""},
		{"call", `{"tool":"missing"}`, 200, `{"error":{"code":-31001}}`, ""},
		{"call", `{"tool":"gone"}`, 503, "stopping", ""},
		{"prompt", `{"prompt":"p","arguments":{"a":"b"}}`, 200, `{"result":{"n":1e400}}`, `{"a":"b"}`},
		{"prompt", `{"tool":"p"}`, 400, `send an object such as {"prompt"`, ""},
		{"call", `{"uri":"x"}`, 400, `send an object such as {"tool"`, ""},
		{"call", `{"tool":"a","arguments":[1]}`, 400, "arguments in the body must be an object", ""},
		{"read", `{"tool":"a"}`, 400, `send an object such as {"uri"`, ""},
		{"read", `{}`, 400, `send an object such as {"uri"`, ""},
		{"read", `nonsense`, 400, "the body is not valid JSON", ""},
		{"read", `{"uri":"` + strings.Repeat("x", maxUseBytes) + `"}`, 400, "the body is longer than ", ""},
	} {
		got = status.Use{}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", "/actions/"+c.verb, strings.NewReader(c.body)))
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) || string(got.Arguments) != c.args {
			t.Errorf("%s %.60s: got %d %s, arguments %s; want %d with %s, arguments %s", c.verb, c.body, w.Code, w.Body, got.Arguments, c.code, c.want, c.args)
		}
	}
}
