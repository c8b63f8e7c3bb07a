package team

import (
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"goblin-actor/internal/authtest"
	"goblin-actor/internal/gatetest"
)

// S5.6: Two users have keys and roles and connect over TLS. One server needs a login, and its token is renewed during a call. A session id is
// stolen, and a key is revoked under load. The audit log records all this, and its verification succeeds.
func TestWholeFlow(t *testing.T) {
	p := newPlace(t, authtest.Faults{Life: 4 * time.Second})
	adaKey, benKey := p.run("key", "new", "ada"), p.run("key", "new", "ben", "--role", "reader", "--expires", "90d")
	p.serve()
	ada, ben, thief := p.person(adaKey), p.person(benKey), p.person(benKey)
	ada.begin()
	thief.begin()
	ben.modern = true

	p.loginAtHosted(ada)
	p.roles(ada, ben)
	p.renewedInACall(ada, ben)
	p.stolenSession(ada, thief)
	answered := p.revokedUnderLoad(ada, ben, thief)

	p.story(answered)
	if got := p.run("audit", "verify"); !strings.HasPrefix(got, "ok: ") {
		t.Errorf("audit verify: %s", got)
	}
	if err := p.gate.End(); err != nil {
		t.Errorf("the gateway exited with %v\n%s", err, p.gate.Log)
	}
	if got := p.run("audit", "verify"); !strings.HasPrefix(got, "ok: ") || strings.Contains(got, "not signed") {
		t.Errorf("audit verify after the end: %s", got)
	}
}

// loginAtHosted checks that the hosted server needs a login. After an operator has made a shared login, users with keys can use the server, and
// a client without a key is refused.
func (p *place) loginAtHosted(ada *person) {
	p.t.Helper()
	p.state("needs-login")
	p.logIn()
	p.state("ready")
	gatetest.WaitFor(p.t, "the tools of all servers", func() (bool, string) {
		names := ada.tools()
		for _, want := range []string{"clock_now", "hosted_echo", "notes_add_note"} {
			if !slices.Contains(names, want) {
				return false, fmt.Sprint(names)
			}
		}
		return true, ""
	})
	ada.says("hosted_echo", `{"text":"first"}`, "echo first")
	absent := p.person("")
	a, err := absent.send(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil)
	if err != nil || a.status != http.StatusUnauthorized || a.header.Get("WWW-Authenticate") == "" {
		p.t.Fatalf("a client without a key got %v, %v", a, err)
	}
	if runtime.GOOS == "linux" { // on Linux, Go reads SSL_CERT_FILE
		p.write("ada.key", []byte(ada.key))
		port := p.gate.Base[strings.LastIndexByte(p.gate.Base, ':'):]
		if got := p.run("list", "tools", "--connect", "https://localhost"+port, "--key-file", "ada.key"); !strings.Contains(got, "hosted_echo") {
			p.t.Errorf("list tools shows %s", got)
		}
	}
}

// roles checks that items that no role permits are neither listed nor callable.
func (p *place) roles(ada, ben *person) {
	p.t.Helper()
	both := []string{"clock_now", "clock_wait", "hosted_echo", "hosted_slow", "notes_search_notes"}
	for who, want := range map[*person][]string{
		ada: slices.Sorted(slices.Values(append([]string{"notes_add_note", "notes_edit_note"}, both...))),
		ben: both,
	} {
		if got := slices.Sorted(slices.Values(who.tools())); !slices.Equal(got, want) {
			p.t.Errorf("a user sees %v, want %v", got, want)
		}
	}
	ada.says("notes_add_note", `{"title":"plan","text":"none"}`, "note:///plan")
	hidden, a, err := ben.call("notes_add_note", `{"title":"no","text":"no"}`)
	if err != nil || hidden == nil || hidden.Error == nil {
		p.t.Fatalf("ben could add a note: %v, %v", a, err)
	}
	missing, _, err := ben.call("notes_no_such_note", `{}`)
	if err != nil || missing == nil || missing.Error == nil {
		p.t.Fatalf("ben's call of an unknown tool: %v", err)
	}
	if got, want := hidden.Error.Message, strings.ReplaceAll(missing.Error.Message, "notes_no_such_note", "notes_add_note"); got != want || hidden.Error.Code != missing.Error.Code {
		p.t.Errorf("a forbidden tool is answered with %q, an unknown one with %q; want equal", got, want)
	}
}

// renewedInACall makes a call that takes longer than its access token is valid. Other calls must succeed meanwhile, first with a token that was
// renewed ahead of time, then with one that was renewed because the server refused the old one.
func (p *place) renewedInACall(ada, ben *person) {
	p.t.Helper()
	slow := make(chan *answer, 1)
	go func() {
		_, a, err := ada.call("hosted_slow", `{"text":"slow"}`)
		if err != nil {
			p.t.Errorf("the slow call: %v", err)
		}
		slow <- a
	}()
	<-p.hosted.begun
	before, tokens := p.issuer.Refreshes(), len(p.server.Served())
	gatetest.WaitFor(p.t, "the token to be renewed twice", func() (bool, string) {
		ada.says("hosted_echo", `{"text":"of ada"}`, "echo of ada")
		ben.says("hosted_echo", `{"text":"of ben"}`, "echo of ben")
		return p.issuer.Refreshes() >= before+2, fmt.Sprint(p.issuer.Refreshes())
	})
	p.issuer.Revoke(false)
	ada.says("hosted_echo", `{"text":"at once"}`, "echo at once")
	used := map[string]bool{}
	for _, token := range p.server.Served()[tokens:] {
		used[token] = true
	}
	if len(used) < 3 {
		p.t.Errorf("%d tokens were used during the call, want three", len(used))
	}
	p.hosted.release <- struct{}{}
	if a := <-slow; a == nil || strings.Count(a.body, "notifications/progress") != 2 || !strings.Contains(a.body, "echo slow") {
		p.t.Errorf("the call during which the token was renewed got %+v", a)
	}
}

// stolenSession checks that a client with another user's session id, but without that user's key, gets the same answer as for an unknown session.
// The session must continue.
func (p *place) stolenSession(ada, thief *person) {
	p.t.Helper()
	own := thief.session
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		body := ""
		if method == http.MethodPost {
			body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"clock_now","arguments":{}}}`
		}
		thief.session = ada.session
		stolen, err := thief.send(method, body, nil)
		if err != nil {
			p.t.Fatal(err)
		}
		thief.session = strings.Repeat("0", len(ada.session))
		unknown, err := thief.send(method, body, nil)
		if err != nil {
			p.t.Fatal(err)
		}
		if stolen.status != http.StatusNotFound || stolen.status != unknown.status || stolen.body != unknown.body {
			p.t.Fatalf("%s with a stolen session id: got %d %s; with an unknown one: %d %s", method, stolen.status, stolen.body, unknown.status, unknown.body)
		}
	}
	thief.session = own
	thief.says("clock_now", `{}`, "text")
	ada.says("clock_now", `{}`, "text")
}

// revokedUnderLoad revokes ben's key while both users call as fast as possible, and returns the number of ada's answered calls. Each
// request gets exactly one answer, its own; none of ada's calls fails.
func (p *place) revokedUnderLoad(ada, ben, benOnStreams *person) (answered int64) {
	p.t.Helper()
	l := &load{t: p.t, stop: make(chan struct{})}
	stream := make(chan error, 1)
	go func() {
		_, err := benOnStreams.send(http.MethodGet, "", nil) // blocks until the stream ends
		stream <- err
	}()
	for i := range 4 {
		l.Go(func() { l.worker(ada, fmt.Sprintf("ada %d", i), &l.ada, nil) })
		l.Go(func() { l.worker(ben, fmt.Sprintf("ben %d", i), &l.ben, &l.refused) })
		l.Go(func() { l.wait(ben) })
		l.Go(func() { l.wait(benOnStreams) })
	}
	gatetest.WaitFor(p.t, "the load", func() (bool, string) {
		s, err := gatetest.Snapshot(p.t.Context(), p.dir)
		if err != nil {
			return false, err.Error()
		}
		waiting := 0
		for _, c := range s.Calls {
			if c.Item == "wait" && c.State == "written" {
				waiting++
			}
		}
		return waiting == 8 && l.ada.Load() > 100 && l.ben.Load() > 100, fmt.Sprint(waiting, l.ada.Load(), l.ben.Load())
	})
	p.run("key", "revoke", "ben")
	gatetest.WaitFor(p.t, "each of ben's workers to be refused", func() (bool, string) { return l.refused.Load() == 4, fmt.Sprint(l.refused.Load()) })
	after := l.ada.Load()
	gatetest.WaitFor(p.t, "ada to go on", func() (bool, string) { return l.ada.Load() > after+100, fmt.Sprint(l.ada.Load()) })
	close(l.stop)
	l.Wait()
	if err := <-stream; err != nil {
		p.t.Errorf("stream of the revoked key: %v", err)
	}
	if n := l.ended.Load(); n != 8 {
		p.t.Errorf("%d of 8 running calls ended with one error when their key was revoked, want all", n)
	}
	return l.ada.Load()
}

// load runs workers that call tools, and counts the outcomes.
type load struct {
	sync.WaitGroup
	t    *testing.T
	stop chan struct{}

	ada, ben atomic.Int64 // correct answers
	refused  atomic.Int64 // workers that were refused
	ended    atomic.Int64 // long calls ended by the revocation
}

// worker calls until it is stopped or, if refused is not nil, until it is refused.
func (l *load) worker(who *person, name string, good, refused *atomic.Int64) {
	for i := 0; ; i++ {
		select {
		case <-l.stop:
			return
		default:
		}
		text := fmt.Sprintf("%s %d", name, i)
		m, a, err := who.call("hosted_echo", fmt.Sprintf(`{"text":"%s"}`, text))
		switch {
		case err != nil:
			l.t.Errorf("%s: %v", text, err)
			return
		case m != nil && strings.Contains(string(m.Result), "echo "+text+`"`):
			good.Add(1)
		case refused != nil && m == nil:
			refused.Add(1)
			return
		case refused != nil && m.Error != nil: // it was running when the key was revoked
		default:
			l.t.Errorf("%s: %s", text, a.body)
			return
		}
	}
}

// wait makes a call that would take far longer than the test. The revocation must end the call with an error.
func (l *load) wait(who *person) {
	m, a, err := who.call("clock_wait", `{"seconds":600}`)
	switch {
	case err != nil:
		l.t.Errorf("long call: %v", err)
	case m == nil || m.Error == nil:
		l.t.Errorf("long call: got %d %s, want an error of its own", a.status, a.body)
	default:
		l.ended.Add(1)
	}
}
