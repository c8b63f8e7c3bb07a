package token

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/authtest"
	"goblin-actor/internal/oauth"
	"goblin-actor/internal/ssrf"
	"goblin-actor/protocol/upstream"
)

const redirectURI = "http://127.0.0.1:4711/callback"

// world is a token actor, an authorization server, and a server that requires its tokens.
type world struct {
	t      *testing.T
	system *kernel.System
	issuer *authtest.Issuer
	server *authtest.Server
	owner  actortest.Probe
	store  *shelf
	handle *Handle
	opts   Options

	parents int // spawned so far
}

// shelf is a store that keeps logins in memory.
type shelf struct {
	mu     sync.Mutex
	values map[string]message.Token
	err    string
	silent bool
	order  []string // kinds of messages received: "remember" and "read"
	last   uint64   // number of the last RememberToken
}

func (s *shelf) answer(msg any) []kernel.Effect {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m := msg.(type) {
	case message.RememberToken:
		s.order, s.last = append(s.order, "remember"), m.Number
		if s.silent {
			return []kernel.Effect{}
		}
		if s.values[m.Key] = m.Value; m.Value == nil {
			delete(s.values, m.Key)
		}
		if m.From == (kernel.Reference{}) {
			return []kernel.Effect{}
		}
		return []kernel.Effect{kernel.Tell(m.From, message.TokenStored{Key: m.Key, Number: m.Number, Err: s.err})}
	case message.ReadToken:
		s.order = append(s.order, "read")
		return []kernel.Effect{kernel.Tell(m.From, message.TokenRead{Key: m.Key, Value: s.values[m.Key], Err: s.err})}
	}
	return nil
}

func (s *shelf) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// until waits until the function ok returns true. It is needed if the message to the store or the owner has no answer to
// wait for: for example, a refused request is answered before the store has removed the token.
func (s *shelf) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline, tick := time.After(2*time.Minute), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for met := false; !met; s.set(func() { met = ok() }) {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

func (s *shelf) get(key string) message.Token {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.values[key])
}

func newWorld(t *testing.T, f authtest.Faults, change func(*Options)) *world {
	t.Helper()
	w := &world{t: t, system: kernel.New(kernel.Options{Logger: slog.New(slog.DiscardHandler)}), store: &shelf{values: map[string]message.Token{}}}
	w.issuer = authtest.New(t, f)
	w.server = w.issuer.Protect(t, nil)
	w.owner = actortest.NewProbe(w.system, "owner")
	store := actortest.NewAnsweringProbe(w.system, "store", w.store.answer)
	t.Cleanup(func() { actortest.Stop(t, w.system) })
	w.opts = Options{
		Login: message.LoginKey{Entry: "files"}, Key: "files", Agent: agentOf(t, w.server.URL, oauth.Config{}),
		Store: store.Reference, Owner: w.owner.Reference,
		Budget: &Budget{}, Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&w.opts)
	}
	w.handle = w.spawn(w.opts)
	return w
}

// spawn starts a token actor under a parent of its own.
func (w *world) spawn(o Options) *Handle {
	made := make(chan *Handle, 1)
	w.parents++
	kernel.Spawn(w.system, kernel.SpawnOptions{Name: fmt.Sprintf("parent %d of %s", w.parents, o.Login.Lane)}, func(self kernel.Self) kernel.Logic {
		made <- Spawn(self, o)
		return idle{}
	})
	return <-made
}

// idle is a parent actor that does nothing.
type idle struct{}

func (idle) Step(_ time.Time, _ any, out []kernel.Effect) []kernel.Effect { return out }

func (idle) Act(kernel.Self, any) {}

func agentOf(t *testing.T, serverURL string, c oauth.Config) *oauth.Agent {
	t.Helper()
	guard, err := ssrf.New(ssrf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &oauth.Agent{Server: serverURL, Client: guard.ClientFor(serverURL), Now: time.Now, Config: c}
}

// get sends a request as a link does, and repeats it once if the verdict allows that. It returns the last status and,
// if that is a refusal, the verdict.
func (w *world) get(h *Handle) (status int, v upstream.Verdict) {
	for range 2 {
		r, _ := http.NewRequest(http.MethodGet, w.server.URL, nil)
		sent := h.Authorization()
		if sent != "" {
			r.Header.Set("Authorization", sent)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			w.t.Error(err)
			return 0, v
		}
		_ = answer.Body.Close()
		if status = answer.StatusCode; status != http.StatusUnauthorized && status != http.StatusForbidden {
			return status, upstream.Verdict{}
		}
		if v = <-h.Refused(sent, status, answer.Header.Values("WWW-Authenticate")); !v.Again {
			return status, v
		}
	}
	return status, v
}

func (w *world) begin(who string) message.LoginStarted {
	reply := make(chan message.LoginStarted, 1)
	w.handle.Actor().Tell(message.BeginLogin{Who: who, RedirectURI: redirectURI, Reply: reply})
	return <-reply
}

func (w *world) finish(who string, q url.Values) message.LoginFinished {
	reply := make(chan message.LoginFinished, 1)
	w.handle.Actor().Tell(message.FinishLogin{
		Who: who, State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), Error: q.Get("error"), Reply: reply,
	})
	return <-reply
}

// logIn logs a person in.
func (w *world) logIn() {
	w.t.Helper()
	began := w.begin("local")
	if began.Err != nil {
		w.t.Fatal(began.Err)
	}
	if done := w.finish("local", w.issuer.Approve(w.t, began.URL)); done.Err != nil {
		w.t.Fatal(done.Err)
	}
}

func (w *world) report() message.LoginReport {
	reply := make(chan any, 1)
	w.handle.Actor().Tell(message.Inspect{Reply: func(part any) { reply <- part }})
	r, _ := (<-reply).(message.LoginReport)
	return r
}
