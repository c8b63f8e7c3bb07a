package token

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/oauth"
	"goblin-actor/protocol/upstream"
)

var epoch = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// script runs a state without an actor. It records the effects, delivers answers and controls the time.
type script struct {
	t     *testing.T
	s     *state
	now   time.Time
	acts  []any
	wakes []wake // pending timers
	keeps uint64 // number of the last write whose result the store has to report
}

type wake struct {
	at  time.Time
	msg any
}

func newScript(t *testing.T, kept *record, seed uint64) *script {
	o := Options{Login: message.LoginKey{Entry: "files"}, Key: "files", Agent: &oauth.Agent{Server: "https://mcp.example/mcp"}, Seed: seed}
	if kept != nil {
		o.Stored = kept.encode()
	}
	p := &script{t: t, s: newState(o), now: epoch}
	p.tell(kernel.Started{})
	return p
}

func site() *oauth.AuthServer {
	return &oauth.AuthServer{Resource: "https://mcp.example/mcp", Issuer: "https://login.example", Token: "https://login.example/token", Revoke: "https://login.example/revoke"}
}

func keptRecord(got time.Time, life time.Duration) *record {
	return &record{Server: "https://mcp.example/mcp", Site: site(), Token: oauth.Token{Access: "a0", Refresh: "r0", Received: got, Expires: got.Add(life)}}
}

// tell applies a message, records the effects and sends the answers. It checks that the transition is legal.
func (p *script) tell(msg any) {
	p.t.Helper()
	was, answered := p.s.phase, false
	for _, e := range step(p.s, p.now, msg, nil) {
		switch a := e.Act.(type) {
		case nil:
			if changed, is := e.Msg.(message.LoginChanged); is && answered {
				p.t.Errorf("%T: a login or logout was answered before the pool was told: %+v", msg, changed)
			}
			if m, is := e.Msg.(message.RememberToken); is && m.Number != 0 {
				p.keeps = m.Number
			}
			p.acts = append(p.acts, e.Msg)
		case kernel.Wake:
			p.wakes = append(p.wakes, wake{p.now.Add(a.After), a.Msg})
		case kernel.Logged:
		case verdict:
			a.to <- a.what
		case started:
			a.to <- a.what
		case finished:
			answered = answered || a.err == nil
			if a.to != nil {
				a.to <- message.LoginFinished{Err: a.err}
			}
		default:
			p.acts = append(p.acts, a)
		}
	}
	if p.s.phase != was && !slices.Contains(transitions[was], p.s.phase) {
		if _, again := msg.(kernel.Started); !again {
			p.t.Errorf("%s → %s by %T is not a legal transition", was, p.s.phase, msg)
		}
	}
}

// kept answers the last write as the store does.
func (p *script) kept(failed string) {
	p.t.Helper()
	p.tell(message.TokenStored{Key: "files", Number: p.keeps, Err: failed})
}

// until advances the time and delivers the timers that fire.
func (p *script) until(at time.Time) {
	for {
		next := -1
		for i, w := range p.wakes {
			if !w.at.After(at) && (next < 0 || w.at.Before(p.wakes[next].at)) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		w := p.wakes[next]
		p.wakes = slices.Delete(p.wakes, next, next+1)
		p.now = w.at
		p.tell(w.msg)
	}
	p.now = at
}

// take returns the last act of type T and clears the list of acts.
func take[T any](p *script) (found T, ok bool) {
	for _, a := range p.acts {
		if f, is := a.(T); is {
			found, ok = f, true
		}
	}
	p.acts = nil
	return found, ok
}

// A token is renewed at 70 to 80 % of its lifetime, depending on the seed. A failed renewal is retried.
func TestRenewedAheadOfTime(t *testing.T) {
	for seed := range uint64(20) {
		p := newScript(t, keptRecord(epoch, time.Hour), seed)
		p.until(epoch.Add(42*time.Minute - 1))
		if _, early := take[refresh](p); early {
			t.Fatal("renewed before 70 % of the lifetime")
		}
		p.until(epoch.Add(48 * time.Minute))
		r, ok := take[refresh](p)
		if !ok || r.token.Refresh != "r0" {
			t.Fatal("not renewed at 80 % of the lifetime")
		}
		p.tell(granted{number: r.number, err: &oauth.OAuthError{Status: 500}})
		if p.s.phase != stale || p.s.current.authorization != "Bearer a0" {
			t.Fatalf("phase %s after a failure, want stale", p.s.phase)
		}
		p.until(p.now.Add(time.Second))
		if r, ok = take[refresh](p); !ok {
			t.Fatal("not retried within a second")
		}
		p.tell(granted{number: r.number, token: oauth.Token{Access: "a1", Refresh: "r1", Received: p.now, Expires: p.now.Add(time.Hour)}})
		if p.s.current.authorization != "Bearer a0" {
			t.Fatal("the new token was used before it was on disk")
		}
		p.kept("")
		if p.s.phase != fresh || p.s.current.authorization != "Bearer a1" {
			t.Fatalf("phase %s, want fresh", p.s.phase)
		}
	}
}

func TestBackoffGrowsAndEnds(t *testing.T) {
	p := newScript(t, keptRecord(epoch, time.Hour), 1)
	p.until(epoch.Add(48 * time.Minute))
	last := time.Duration(0)
	for range 30 {
		r, ok := take[refresh](p)
		if !ok {
			t.Fatal("not retried")
		}
		p.tell(granted{number: r.number, err: &oauth.NetworkError{Op: "refresh", Err: errors.New("refused")}})
		last = p.s.renewal.retryAt.Sub(p.now)
		if last > backoffMax {
			t.Fatalf("pause %v", last)
		}
		reply := make(chan upstream.Verdict, 1)
		p.tell(refused{sent: "Bearer a0", status: 401, reply: reply})
		if v := <-reply; v.Again || v.Err == nil {
			t.Fatalf("refusal during the pause: %+v, want an error", v)
		}
		p.until(p.s.renewal.retryAt)
	}
	if last < backoffMax/2 {
		t.Errorf("pause %v after 30 failures", last)
	}
}

// A stored token that has expired is renewed at the start and not sent.
func TestExpiredAtTheStart(t *testing.T) {
	p := newScript(t, keptRecord(epoch.Add(-2*time.Hour), time.Hour), 1)
	if _, ok := take[refresh](p); !ok || p.s.current != nil {
		t.Error("an expired token was sent, or not renewed at once")
	}
}

// A new token is used after storeTimeout even if the store does not answer.
func TestStoreThatDoesNotAnswer(t *testing.T) {
	p := newScript(t, keptRecord(epoch.Add(-2*time.Hour), time.Hour), 1)
	r, _ := take[refresh](p)
	p.tell(granted{number: r.number, token: oauth.Token{Access: "a1", Refresh: "r1", Received: p.now, Expires: p.now.Add(time.Hour)}})
	p.until(p.now.Add(storeTimeout - 1))
	if p.s.current != nil {
		t.Error("the token was used before storeTimeout")
	}
	p.until(p.now.Add(1))
	if p.s.current == nil {
		t.Error("the token was not used after storeTimeout")
	}
}

// A login that is not finished times out after 10 minutes, and its callers get ErrExpired.
func TestLoginTimesOut(t *testing.T) {
	p := newScript(t, nil, 1)
	reply, done := make(chan message.LoginStarted, 1), make(chan message.LoginFinished, 1)
	p.tell(message.BeginLogin{Who: "ada", Device: true, Reply: reply})
	b, _ := take[begin](p)
	p.tell(begun{number: b.number, login: &oauth.Login{State: "s", Site: site()}, device: &oauth.Device{Interval: time.Second}})
	if l := <-reply; l.State != "s" {
		t.Fatalf("got %v", l.Err)
	}
	p.tell(message.FinishLogin{Who: "ada", State: "s", Reply: done})
	p.until(epoch.Add(loginTimeout - 1))
	if len(done) != 0 || len(p.s.logins.pending) != 1 {
		t.Fatal("the login timed out too early")
	}
	p.until(epoch.Add(loginTimeout))
	if l := <-done; !errors.Is(l.Err, ErrExpired) || len(p.s.logins.pending) != 0 {
		t.Errorf("got %v", l.Err)
	}
}

// The pool learns about a login before the login's caller, who may send a call at once. script.tell checks the order.
func TestLoggedInAfterThePoolKnows(t *testing.T) {
	p := newScript(t, nil, 1)
	reply, done := make(chan message.LoginStarted, 1), make(chan message.LoginFinished, 1)
	p.tell(message.BeginLogin{Who: "ada", RedirectURI: redirectURI, Reply: reply})
	b, _ := take[begin](p)
	p.tell(begun{number: b.number, login: &oauth.Login{State: "s", Site: site()}})
	<-reply
	p.tell(message.FinishLogin{Who: "ada", State: "s", Code: "c", Reply: done})
	r, _ := take[redeem](p)
	p.tell(redeemed{number: r.number, token: oauth.Token{Access: "a1", Received: p.now}}) // without a refresh token
	if len(done) != 0 || p.s.current != nil {
		t.Fatal("the login was answered before it was on disk")
	}
	p.kept("")
	if l := <-done; l.Err != nil {
		t.Fatal(l.Err)
	}
	if changed, told := take[message.LoginChanged](p); !told || changed.Phase != message.LoginPresent {
		t.Errorf("the pool got %+v", changed)
	}
}

// For random messages in random order, every request is answered once, phases follow the table, and no part of the state grows
// without limit.
func TestRandomScripts(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := newScript(t, []*record{nil, keptRecord(epoch, time.Hour)}[r.IntN(2)], seed)
		p.s.clientCredentials = r.IntN(4) == 0
		f := &faces{t: t, r: r, p: p}
		for range 200 {
			f.act()
		}
		p.tell(kernel.Stopping{})
		f.check()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// faces simulates everything that the actor communicates with.
type faces struct {
	t        *testing.T
	r        *rand.Rand
	p        *script
	verdicts []chan upstream.Verdict
	starts   []chan message.LoginStarted
	ends     []chan message.LoginFinished
	tokens   int
}

func (f *faces) token() oauth.Token {
	f.tokens++
	return oauth.Token{Access: "a" + string(rune('A'+f.tokens%26)), Refresh: []string{"", "r0", "r" + string(rune('A'+f.tokens%26))}[f.r.IntN(3)], Received: f.p.now, Expires: f.p.now.Add(time.Hour)}
}

func (f *faces) err() error {
	return []error{nil, nil, &oauth.OAuthError{Status: 500}, &oauth.OAuthError{Status: 400, Code: "invalid_grant"}, &oauth.OAuthError{Status: 401, Code: "invalid_client"}, oauth.ErrPending}[f.r.IntN(6)]
}

// act performs a random action: a request, a response, or the passing of time.
func (f *faces) act() {
	f.t.Helper()
	if n := len(f.p.acts); n > 0 && f.r.IntN(2) == 0 {
		i := f.r.IntN(n)
		a := f.p.acts[i]
		f.p.acts = slices.Delete(f.p.acts, i, i+1)
		f.answer(a)
		return
	}
	switch f.r.IntN(8) {
	case 0, 1:
		sent := []string{"", "Bearer a0", "Bearer old"}[f.r.IntN(3)]
		if c := f.p.s.current; c != nil && f.r.IntN(2) == 0 {
			sent = c.authorization
		}
		reply := make(chan upstream.Verdict, 1)
		f.verdicts = append(f.verdicts, reply)
		f.p.tell(refused{sent, []int{401, 403}[f.r.IntN(2)], []string{`Bearer error="insufficient_scope", scope="x` + string(rune('a'+f.r.IntN(5))) + `"`}, reply})
	case 2:
		reply := make(chan message.LoginStarted, 1)
		f.starts = append(f.starts, reply)
		f.p.tell(message.BeginLogin{Who: string(rune('a' + f.r.IntN(3))), Device: f.r.IntN(2) == 0, Reply: reply})
	case 3:
		reply := make(chan message.LoginFinished, 1)
		f.ends = append(f.ends, reply)
		f.p.tell(message.FinishLogin{Who: string(rune('a' + f.r.IntN(3))), State: string(rune('0' + f.r.IntN(8))), Reply: reply})
	case 4:
		if f.r.IntN(10) == 0 {
			reply := make(chan message.LoginFinished, 1)
			f.ends = append(f.ends, reply)
			f.p.tell(message.EndLogin{Reply: reply})
		}
	default:
		f.p.until(f.p.now.Add(time.Duration(f.r.Int64N(int64(20 * time.Minute)))))
	}
	if len(f.p.s.logins.pending) > maxLogins || len(f.p.s.record.Clients) > maxClients {
		f.t.Errorf("%d pending logins and %d registrations, more than the limits", len(f.p.s.logins.pending), len(f.p.s.record.Clients))
	}
}

func (f *faces) answer(a any) {
	switch a := a.(type) {
	case discover:
		if err := f.err(); err != nil {
			f.p.tell(discovered{a.number, nil, err})
			return
		}
		f.p.tell(discovered{a.number, site(), nil})
	case refresh:
		f.p.tell(granted{a.number, f.token(), f.err()})
	case credentials:
		f.p.tell(granted{a.number, f.token(), f.err()})
	case begin:
		b := begun{number: a.number, err: f.err()}
		if b.err == nil {
			b.login = &oauth.Login{State: string(rune('0' + a.number%8)), Site: site(), Client: oauth.Client{ID: "c", Redirect: string(rune('a' + f.r.IntN(26)))}}
			if a.device {
				b.device = &oauth.Device{Interval: time.Second}
			}
		}
		f.p.tell(b)
	case redeem:
		f.p.tell(redeemed{a.number, f.token(), f.err()})
	case poll:
		f.p.tell(polled{a.number, f.token(), f.err()})
	case revoke:
		f.p.tell(revoked{a.number, f.err()})
	case message.RememberToken:
		if a.Number != 0 { // From is zero, since an actor that was not spawned has no reference
			f.p.tell(message.TokenStored{Key: "files", Number: a.Number, Err: []string{"", "", "", "the disk is full"}[f.r.IntN(4)]})
		}
	case message.ReadToken:
		other := keptRecord(f.p.now, time.Hour)
		other.Token = f.token()
		f.p.tell(message.TokenRead{Key: "files", Value: other.encode()})
	}
}

// check checks that every request was answered once and that no logout is left.
func (f *faces) check() {
	if s := f.p.s; s.logouts.size() != 0 {
		f.t.Errorf("left after the end: %d logouts, %d token requests, %d other results", len(s.logouts.all), len(s.logouts.late), len(s.logouts.pending))
	}
	for i, c := range f.verdicts {
		if len(c) != 1 {
			f.t.Errorf("refusal %d has %d answers, want 1", i, len(c))
		}
	}
	for i, c := range f.starts {
		if len(c) != 1 {
			f.t.Errorf("BeginLogin %d has %d answers, want 1", i, len(c))
		}
	}
	for i, c := range f.ends {
		if len(c) != 1 {
			f.t.Errorf("FinishLogin or EndLogin %d has %d answers, want 1", i, len(c))
		}
	}
}

// If the server answers "insufficient_scope" although no token was sent, a login is needed. If a renewal is in progress, the
// request is retried with its token.
func TestInsufficientScopeWithoutToken(t *testing.T) {
	verdict := make(chan upstream.Verdict, 1)
	forbidden := refused{status: statusForbidden, challenges: []string{`Bearer error="insufficient_scope", scope="write"`}, reply: verdict}
	p := newScript(t, nil, 1)
	p.tell(forbidden)
	d, ok := take[discover](p)
	if !ok || !slices.Equal(d.challenge.Scopes, []string{"write"}) {
		t.Fatalf("no discovery with the challenge; %d verdicts", len(verdict))
	}
	p.tell(discovered{number: d.number, site: site()})
	if v := <-verdict; v.Again || !errors.Is(v.Err, ErrNeedsLogin) || hintOf(v.Err) != "run goblin-actor login files" {
		t.Errorf("without a login: %v, hint %q", v.Err, hintOf(v.Err))
	}
	p = newScript(t, keptRecord(epoch.Add(-2*time.Hour), time.Hour), 1)
	r, _ := take[refresh](p)
	p.tell(forbidden)
	p.tell(granted{number: r.number, token: tokenOf("1")})
	p.kept("")
	if v := <-verdict; !v.Again {
		t.Errorf("during a renewal: %+v, want a retry", v)
	}
}
