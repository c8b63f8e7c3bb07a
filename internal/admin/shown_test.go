package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"goblin-actor/internal/status"
)

// failing is a gateway whose errors contain a secret.
type failing struct{ gateway }

func (*failing) Act(context.Context, status.Action) error {
	return fmt.Errorf("server files says hunter2: %w", status.ErrNotThere)
}

// Errors of actions contain no known secrets, also those of routes that other packages add. Results of uses and the pages
// of logins pass unchanged.
func TestActionsHideSecrets(t *testing.T) {
	source := status.Local{Gateway: &failing{}, Counters: status.NewMetrics(),
		Known: func(text string) string { return strings.ReplaceAll(text, "hunter2", "[redacted]") }}
	answers := func(code int, text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = w.Write([]byte(text))
		})
	}
	h := private(source, func(_ context.Context, u status.Use, _ func(status.UseEvent)) (status.UseResult, error) {
		if u.URI != "" {
			return status.UseResult{}, errors.New("hunter2 is wrong")
		}
		return status.UseResult{Result: json.RawMessage(`"hunter2"`)}, nil
	}, nil, Route{"POST /actions/login", answers(200, "https://login.example/?state=hunter2")}, Route{"POST /actions/login-finish", answers(502, "invalid_grant: hunter2")},
		Route{"POST /actions/logout", answers(202, "not yet: hunter2")})
	for _, c := range []struct {
		path, body string
		code       int
		want       string
	}{
		{"restart", `{"server":"files"}`, 404, "server files says [redacted]: not found\n"},
		{"call", `{"tool":"t"}`, 200, `{"result":"hunter2"}`},
		{"read", `{"uri":"u"}`, 503, "[redacted] is wrong\n"},
		{"answer", `{"question":"q","action":"hunter2"}`, 400, `action "[redacted]" in the body`},
		{"login", `{}`, 200, "https://login.example/?state=hunter2"},
		{"login-finish", `{}`, 502, "invalid_grant: [redacted]"},
		{"logout", `{}`, 202, "not yet: [redacted]"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/actions/"+c.path, strings.NewReader(c.body)))
		if got := w.Body.String(); w.Code != c.code || !strings.Contains(got, c.want) || w.Code != http.StatusOK && strings.Contains(got, "hunter2") {
			t.Errorf("%s %s: got %d %q, want %d with %q", c.path, c.body, w.Code, got, c.code, c.want)
		}
	}
	if err := source.Act(t.Context(), status.Action{Verb: status.Restart}); !errors.Is(err, status.ErrNotThere) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a console in the gateway's process gets %v", err)
	}
}

// Only an item that does not exist is ErrNotThere. Any other error whose text contains these words is not.
func TestRemoteItemNotThere(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		gone bool
	}{
		"gone":  {fmt.Errorf("item %q: %w", "x", status.ErrNotThere), true},
		"other": {errors.New("the file of the catalog was not found"), false},
	} {
		s := httptest.NewServer(private(local(fixedStatus{err: c.err}), nil, nil))
		defer s.Close()
		r := &remote{path: "s", http: &http.Client{Transport: to(s.Listener.Addr().String())}}
		if _, err := r.Item(t.Context(), "tool", "x"); err == nil || errors.Is(err, status.ErrNotThere) != c.gone {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// to is a transport that sends every request to one address.
type to string

func (t to) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host = string(t)
	return http.DefaultTransport.RoundTrip(r)
}
