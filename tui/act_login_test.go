package tui

import (
	"context"
	"errors"
	"testing"
	"time"

	"goblin-actor/internal/status"
)

// fakeLogins logs in when the test sends a result.
type fakeLogins struct {
	page   string
	cannot error
	asked  chan LoginAction
	result chan error
}

// In implements Logins.
func (f *fakeLogins) In(ctx context.Context, l LoginAction, shown func(string, error)) error {
	f.asked <- l
	shown(f.page, f.cannot)
	select {
	case err := <-f.result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Out implements Logins.
func (f *fakeLogins) Out(ctx context.Context, l LoginAction) error {
	if until, _ := ctx.Deadline(); time.Until(until) < 6*time.Second { // the gateway waits 5 s for the authorization server
		return context.DeadlineExceeded
	}
	f.asked <- l
	return <-f.result
}

// wait returns the next login or logout that the console asked for.
func (f *fakeLogins) wait(t *testing.T) LoginAction {
	t.Helper()
	select {
	case got := <-f.asked:
		return got
	case <-time.After(20 * time.Second):
		t.Fatal("the console asked for nothing")
		return LoginAction{}
	}
}

// choose performs the listed action with that label.
func (s *testConsole) choose(label string) {
	s.t.Helper()
	for i := range s.app.acts {
		if s.app.acts[i].label == label {
			s.app.actAt = i
			s.press("<enter>")
			return
		}
	}
	s.t.Fatalf("no action %q", label)
}

// loginConsole returns a console that lists the actions for a login at github that belongs to whose.
func loginConsole(t *testing.T, whose string) (*testConsole, *fakeLogins) {
	t.Helper()
	s := newTestConsole(t, 120, 40, Options{})
	f := &fakeLogins{page: "https://login.example.com/authorize?x=1\x1b[2J\u202e", asked: make(chan LoginAction, 2), result: make(chan error, 1)}
	s.app.logins = f
	p := *samplePicture()
	p.Logins = []status.Login{{Server: "github", Whose: whose, State: "needs-login"}}
	s.app.take(&p)
	s.press(":logins<enter>x")
	return s, f
}

// The action "log in" shows the page on which the user logs in, c copies its address, and the sheet says how the login ended.
func TestLogIn(t *testing.T) {
	s, f := loginConsole(t, "")
	f.cannot = errors.New("no xdg-open")
	var copied string
	s.app.clipboard = func(text string) error { copied = text; return nil }
	s.has("= goblin-actor login github")
	s.choose("log in")
	s.has("The gateway asks github where to log in.")
	want := LoginAction{Server: "github", Catalog: true, Aim: samplePicture().Aimed(status.Action{}).Aim}
	if got := f.wait(t); got != want {
		t.Errorf("asked for %+v, want %+v", got, want)
	}
	s.happen()
	s.has(`https://login.example.com/authorize?x=1\x1b[2J\u202e`)
	s.has("or leave and run goblin-actor login github --device.")
	s.has("no xdg-open")
	harmless(t, s, "a login page")
	s.press("c")
	if copied != `https://login.example.com/authorize?x=1\x1b[2J\u202e` {
		t.Errorf("copied %q", copied)
	}
	f.result <- nil
	s.happen()
	s.has("logged in to github")
	s.press("<esc>")
	s.has("› logins")
}

// Leaving the sheet stops waiting for the login.
func TestLeaveLogin(t *testing.T) {
	s, f := loginConsole(t, "")
	s.choose("log in")
	f.wait(t)
	s.happen()
	s.has("The browser opens this page.")
	s.press("<esc>")
	s.happen()
	s.has("stopped waiting for the login; if you have finished it in the browser, it may still complete")
}

// The action "log out" asks first. For the login of another user, and in a console that cannot log in, the actions say why they
// are unavailable.
func TestLogOut(t *testing.T) {
	s, f := loginConsole(t, "local")
	s.choose("log out")
	s.has("log out of github? running calls that use the login will fail; y/n")
	f.result <- errors.New("the gateway has restarted since; look at the login again before you repeat the action")
	s.press("y")
	if got := f.wait(t); got.Server != "github" || got.Catalog {
		t.Errorf("logged out of %+v", got)
	}
	select {
	case got := <-s.app.outcomes:
		if got.health != Bad {
			t.Errorf("outcome %+v", got)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("no outcome")
	}
	s, _ = loginConsole(t, "")
	s.choose("log out")
	s.has("log out of github? all clients share this login; running calls that use the login will fail; y/n")
	s, _ = loginConsole(t, "key:local")
	s.has("it belongs to key:local, who must run it")
	s, _ = loginConsole(t, "ada")
	s.has("it belongs to ada, who must run it")
	s.app.logins = nil
	s.press("<esc>x")
	s.choose("log in")
	s.has("log in: run it in a shell")
}
