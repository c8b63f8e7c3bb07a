package actors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"goblin-actor/internal/identity"
	"goblin-actor/internal/secret"
)

// S5.3.1: Attack 82: a server's error repeats the token that the server was sent. No log, status, audit log or error of the
// gateway contains the token.
func TestAttack82IssuedTokens(t *testing.T) {
	teller := newHeaderServer(t)
	echoes := func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		if bytes.Contains(raw, []byte(`"tools/call"`)) {
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprintf(w, "cannot serve %s", r.Header.Get("Authorization"))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(raw))
		teller.serve(w, r)
	}
	g := newOAuthServer(t, echoes)
	path, set := withAuditLog(t, nil)
	var log logBuffer
	var shown bytes.Buffer
	t.Run("while it runs", func(t *testing.T) {
		g.t = t
		w := g.start("", func(o *Options) {
			o.Secrets, o.Log = new(secret.Redactor), slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		}, set)
		g.logIn(w, identity.Local, true)
		w.waitServerState("ready")
		g.logIn(w, person("alice"), false)
		answer := w.modernWho("Authorization", "Bearer alice")
		if !strings.Contains(answer, "cannot serve Bearer [redacted]") {
			t.Errorf("the response lacks the server's error, so the test searched nothing: %s", answer)
		}
		shown.WriteString(answer)
		s, err := w.gateway.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := json.NewEncoder(&shown).Encode(s); err != nil {
			t.Fatal(err)
		}
	})
	raw, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(raw, []byte("one")) {
		t.Errorf("audit log: %v, %s", err, raw)
	}
	for _, token := range g.server.Served() {
		for what, text := range map[string]string{"response or status": shown.String(), "log": log.String(), "audit log": string(raw)} {
			if strings.Contains(text, token) {
				t.Errorf("%s contains a token", what)
			}
		}
	}
}

// logBuffer is a log in memory.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *logBuffer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *logBuffer) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}
