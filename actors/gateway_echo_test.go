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

// S5.3.1: Attack 82: a server repeats the token that it was sent in what it says of its faults: no log, picture, audit log or error of ours tells it.
func TestAttack82IssuedTokens(t *testing.T) {
	teller := newTeller(t)
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
	g := newGuarded(t, echoes)
	path, set := audited(t, nil)
	var log written
	var shown bytes.Buffer
	t.Run("while it runs", func(t *testing.T) {
		g.t = t
		w := g.serve("", func(o *Options) {
			o.Secrets, o.Log = new(secret.Redactor), slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		}, set)
		g.logIn(w, identity.Local, true)
		w.state("ready")
		g.logIn(w, person("alice"), false)
		said := w.modernWho("Authorization", "Bearer alice")
		if !strings.Contains(said, "cannot serve Bearer [redacted]") {
			t.Errorf("the server's word is not told, so nothing was searched: %s", said)
		}
		shown.WriteString(said)
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
		for what, said := range map[string]string{"answer or status": shown.String(), "log": log.String(), "audit log": string(raw)} {
			if strings.Contains(said, token) {
				t.Errorf("%s tells a token", what)
			}
		}
	}
}

// written is a log in memory.
type written struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}
