package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

// login is a Credentials implementation for tests.
type login struct {
	mu      sync.Mutex
	token   string
	asked   []refusal
	verdict func(l *login, r refusal) (v upstream.Verdict, now bool)
}

type refusal struct {
	sent       string
	status     int
	challenges []string
}

func (l *login) Authorization() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.token
}

func (l *login) Refused(sent string, status int, challenges []string) <-chan upstream.Verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := refusal{sent, status, challenges}
	l.asked = append(l.asked, r)
	answer := make(chan upstream.Verdict, 1)
	if v, now := l.verdict(l, r); now {
		answer <- v
	}
	return answer
}

func (l *login) refusals() []refusal {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.asked)
}

// renewing returns a login that takes the next of tokens after each refusal, until none is left.
func renewing(tokens ...string) *login {
	l := &login{token: "Bearer " + tokens[0]}
	rest := tokens[1:]
	l.verdict = func(l *login, _ refusal) (upstream.Verdict, bool) {
		if len(rest) == 0 {
			return upstream.Verdict{Err: errors.New("not logged in to the server")}, true
		}
		l.token, rest = "Bearer "+rest[0], rest[1:]
		return upstream.Verdict{Again: true}, true
	}
	return l
}

// protected is a server that answers requests with the right token, and refuses others with status and challenge.
func protected(want string, status int, challenge string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != want {
			w.Header().Add("WWW-Authenticate", challenge)
			http.Error(w, strings.Repeat("no ", 2000), status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(testResult(body, `{"ok":true}`))
	}
}

func TestRefusedRequestIsSentAgainOnceTheLoginIsRenewed(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		const challenge = `Bearer resource_metadata="https://x.test/.well-known/oauth-protected-resource", scope="a b"`
		l := renewing("old", "new")
		link, r := testOpen(t, Options{URL: serve(protected("Bearer new", 401, challenge)), Credentials: l})
		link.Send(testRequest(1))
		if e, ok := testEnd(r, 1).(upstream.Received); !ok || !strings.Contains(string(e.Frame.Raw), `"ok":true`) {
			t.Fatalf("got %#v", e)
		}
		want := []refusal{{"Bearer old", 401, []string{challenge}}}
		if got := l.refusals(); len(got) != 1 || got[0].sent != want[0].sent || got[0].status != 401 || !slices.Equal(got[0].challenges, want[0].challenges) {
			t.Errorf("refusals: got %v, want %v", got, want)
		}
		link.Send(testRequest(2)) // uses the new token at once
		testEnd(r, 2)
		if n := len(l.refusals()); n != 1 {
			t.Errorf("refused %d times, want 1", n)
		}
	})
}

func TestRequestFailsIfItsLoginStaysRefused(t *testing.T) {
	tests := []struct {
		name      string
		status    int
		challenge string
		tokens    []string
		refused   int // calls of Refused
		login     bool
	}{
		{"no login", 401, `Bearer`, []string{"a"}, 1, true},
		{"401 again and again", 401, `Bearer error="invalid_token"`, []string{"a", "b", "c", "d"}, 3, true},
		{"scope lacks again and again", 403, `Bearer error="insufficient_scope", scope="x"`, []string{"a", "b", "c", "d", "e", "f"}, 4, true},
		{"403 for another reason", 403, `Bearer error="access_denied"`, []string{"a", "b"}, 0, false},
		{"other status", 400, `Bearer error="insufficient_scope"`, []string{"a", "b"}, 0, false},
	}
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		for _, tt := range tests {
			l := renewing(tt.tokens...)
			link, r := testOpen(t, Options{URL: serve(protected("none of them", tt.status, tt.challenge)), Credentials: l})
			link.Send(testRequest(1))
			ended, ok := testEnd(r, 1).(upstream.Ended)
			if !ok {
				t.Fatalf("%s: got %#v, want Ended", tt.name, ended)
			}
			refused, is := errors.AsType[*upstream.LoginError](ended.Err)
			if is != tt.login || is && refused.Status != tt.status {
				t.Errorf("%s: got %v", tt.name, ended.Err)
			}
			if n := len(l.refusals()); n != tt.refused {
				t.Errorf("%s: refused %d times, want %d", tt.name, n, tt.refused)
			}
			if tt.name == "no login" && !strings.Contains(ended.Err.Error(), "not logged in to the server") {
				t.Errorf("%s: got %v", tt.name, ended.Err)
			}
			if strings.Contains(ended.Err.Error(), "Bearer") {
				t.Errorf("%s: the error contains the challenge: %q", tt.name, ended.Err)
			}
		}
	})
}

func TestCredentialsGoWithEveryRequest(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		var mu sync.Mutex
		var bare []string
		verbs := map[string]int{}
		url := serve(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			verbs[r.Method]++
			if values := r.Header.Values("Authorization"); len(values) != 1 || values[0] != "Bearer t" {
				bare = append(bare, r.Method)
			}
			mu.Unlock()
			switch r.Method {
			case http.MethodGet:
				w.Header().Set("Content-Type", "text/event-stream")
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			case http.MethodPost:
				w.Header().Set("Mcp-Session-Id", "s")
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(testResult(body, `{}`))
			}
		})
		r := linktest.New(t)
		link := OpenHTTP(Options{URL: url, Credentials: renewing("t")}, r.Sink)
		link.Send(upstream.Outgoing{Ticket: 1, Request: true, Method: "initialize", Frame: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)})
		testEnd(r, 1)
		link.SetVersion("2025-11-25")
		link.Listen()
		linktest.Wait[upstream.Listening](r, 1)
		link.Close(time.Second)
		linktest.Wait[upstream.Closed](r, 1)
		mu.Lock()
		defer mu.Unlock()
		if len(bare) > 0 || verbs["POST"] != 1 || verbs["GET"] != 1 || verbs["DELETE"] != 1 {
			t.Errorf("without the credentials: %v; requests: %v", bare, verbs)
		}
	})
}

func TestGivingUpEndsTheWaitForALogin(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		asked := make(chan struct{})
		l := &login{verdict: func(*login, refusal) (upstream.Verdict, bool) { close(asked); return upstream.Verdict{}, false }}
		link, r := testOpen(t, Options{URL: serve(protected("x", 401, "Bearer")), Credentials: l})
		link.Send(testRequest(1))
		<-asked
		link.Cancel(1)
		if e, ok := testEnd(r, 1).(upstream.Ended); !ok || !errors.Is(e.Err, context.Canceled) {
			t.Errorf("got %#v", e)
		}
	})
}

func TestLostSessionIsNotTakenForMissingLogin(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		var begun atomic.Bool
		url := serve(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if r.Header.Get("Mcp-Session-Id") != "" {
				begun.Store(true)
				http.Error(w, "Unauthorized: Session not found", http.StatusUnauthorized)
				return
			}
			w.Header().Set("Mcp-Session-Id", "s")
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(testResult(body, `{}`))
		})
		l := renewing("t")
		link, r := testOpen(t, Options{URL: url, Credentials: l})
		link.Send(upstream.Outgoing{Ticket: 1, Request: true, Method: "initialize", Frame: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)})
		testEnd(r, 1)
		link.Send(testRequest(2))
		linktest.Wait[upstream.SessionLost](r, 1)
		if n := len(l.refusals()); n != 0 || !begun.Load() {
			t.Errorf("refused %d times, want never", n)
		}
	})
}

func TestConfiguredHeaderAndLoginExcludeEachOther(t *testing.T) {
	for _, o := range []Options{
		{URL: "http://127.0.0.1:1/", Headers: map[string]string{"authorization": "Bearer x"}},
		{URL: "http://user:word@127.0.0.1:1/"},
	} {
		o.Credentials = renewing("t")
		if _, err := parseSite(o); !errors.Is(err, errTwoLogins) {
			t.Errorf("%+v: got %v", o, err)
		}
	}
}
