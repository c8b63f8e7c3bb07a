package token

import (
	"net/http"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/authtest"
	"goblin-actor/internal/oauth"
	"goblin-actor/protocol/upstream"
)

// A panic ends all pending logins with errRestarted. A login that had succeeded stays in use, and a new one can be made.
func TestPanicEndsPendingLogins(t *testing.T) {
	w := newWorld(t, authtest.Faults{Polls: 1000}, nil)
	w.logIn()
	token := w.handle.Authorization()
	started, finished := make(chan message.LoginStarted, 1), make(chan message.LoginFinished, 1)
	w.handle.Actor().Tell(message.BeginLogin{Who: "ada", Device: true, Reply: started})
	w.handle.Actor().Tell(message.FinishLogin{Who: "ada", State: (<-started).State, Reply: finished})
	if n := w.report().Pending; n != 1 {
		t.Fatalf("%d pending logins, want 1", n)
	}
	w.handle.Actor().Tell(message.Inspect{Reply: func(any) { panic("for the test") }})
	if got := <-finished; got.Err != errRestarted {
		t.Errorf("FinishLogin: %v, want %v", got.Err, errRestarted)
	}
	if pending, taken := w.report().Pending, w.opts.Budget.taken.Load(); pending != 0 || taken != 0 || w.handle.Authorization() != token {
		t.Errorf("%d pending logins and %d in the budget, want none; token kept: %t", pending, taken, w.handle.Authorization() == token)
	}
	if status, v := w.get(w.handle); status != http.StatusOK {
		t.Errorf("status %d, verdict %+v, want 200", status, v)
	}
	w.logIn()
}

// Requests that are still pending at the start of an incarnation are answered. They may be left if the previous incarnation
// panicked while it stopped.
func TestRestartAnswers(t *testing.T) {
	p := newScript(t, keptRecord(epoch.Add(-2*time.Hour), time.Hour), 1)
	verdict, begins, ends := make(chan upstream.Verdict, 1), make(chan message.LoginStarted, 1), make(chan message.LoginFinished, 1)
	p.tell(refused{reply: verdict, status: http.StatusUnauthorized})
	p.tell(message.BeginLogin{Who: "ada", RedirectURI: redirectURI, Reply: make(chan message.LoginStarted, 1)})
	b, _ := take[begin](p)
	p.tell(begun{number: b.number, taken: true, login: &oauth.Login{State: "s", Site: site()}})
	p.tell(message.FinishLogin{Who: "ada", State: "s", Reply: ends})
	p.tell(message.BeginLogin{Who: "ada", RedirectURI: redirectURI, Reply: begins})
	p.tell(kernel.Started{})
	if len(verdict) != 1 || len(begins) != 1 || len(ends) != 1 || len(p.s.logins.pending) != 0 {
		t.Fatalf("%d, %d and %d answers, want one each; %d logins pending, want none", len(verdict), len(begins), len(ends), len(p.s.logins.pending))
	}
	if _, ok := take[release](p); !ok {
		t.Error("the budget was not released")
	}
}
