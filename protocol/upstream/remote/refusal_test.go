package remote

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

// Both transports report every error status unchanged, with Retry-After and the authentication scheme.
func TestEveryErrorStatusIsReported(t *testing.T) {
	refuse := func(w http.ResponseWriter, status int) {
		w.Header().Set("Retry-After", "3")
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(status)
	}
	check := func(t *testing.T, r *linktest.Recorder, status int) {
		t.Helper()
		testEnd(r, uint64(status))
		for _, e := range linktest.All[upstream.Ended](r) {
			if e.Ticket != uint64(status) {
				continue
			}
			scheme := ""
			if status == 401 {
				scheme = "Basic"
			}
			got, is := errors.AsType[*upstream.StatusError](e.Err)
			if !is || got.Code != status || got.RetryAfter != 3*time.Second || got.Scheme != scheme {
				t.Errorf("status %d: ended with %#v", status, e.Err)
			}
			return
		}
		t.Errorf("status %d: not ended", status)
	}
	status := 0
	t.Run("streamable HTTP", func(t *testing.T) {
		testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
			l, r := testOpen(t, Options{URL: serve(func(w http.ResponseWriter, _ *http.Request) { refuse(w, status) })})
			for status = 400; status < 600; status++ {
				l.Send(testRequest(uint64(status)))
				check(t, r, status)
			}
		})
	})
	t.Run("HTTP+SSE", func(t *testing.T) {
		testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
			s := &sseTest{post: func(w http.ResponseWriter, _ *http.Request, _ []byte, _ func(string)) { refuse(w, status) }}
			l, r := sseTestOpen(t, Options{URL: serve(s.ServeHTTP)})
			for status = 400; status < 600; status++ {
				l.Send(testRequest(uint64(status)))
				check(t, r, status)
			}
		})
	})
}

// The error for a redirect that is not followed contains its target without parts that may be secret.
func TestRedirectErrorNamesTarget(t *testing.T) {
	site, err := parseSite(Options{URL: "https://old.example/a/mcp"})
	if err != nil {
		t.Fatal(err)
	}
	for location, want := range map[string]string{
		"https://new.example/mcp":                       "https://new.example/mcp",
		"https://user:secret@new.example/mcp?token=s#x": "https://new.example/mcp",
		"/login":     "https://old.example/login",
		"other":      "https://old.example/a/other",
		"":           "",
		"mailto:x@y": "",
		"http://[":   "",
		"https://new.example/" + strings.Repeat("x", shownLocation): "",
	} {
		if got := site.shownLocation(location); got != want {
			t.Errorf("shownLocation(%q) = %q, want %q", location, got, want)
		}
	}
}

// Bearer wins over other schemes. An invalid scheme is not shown.
func TestOtherScheme(t *testing.T) {
	for _, c := range []struct {
		challenges []string
		want       string
	}{
		{nil, ""},
		{[]string{`Basic realm="x"`}, "Basic"},
		{[]string{"Negotiate"}, "Negotiate"},
		{[]string{`Digest realm="x"`, `bearer`}, ""},
		{[]string{`Bearer realm="x"`, `Basic realm="x"`}, ""},
		{[]string{"\x1b[31mBasic x", strings.Repeat("x", 100)}, ""},
	} {
		if got := otherScheme(c.challenges); got != c.want {
			t.Errorf("otherScheme(%q) = %q, want %q", c.challenges, got, c.want)
		}
	}
}
