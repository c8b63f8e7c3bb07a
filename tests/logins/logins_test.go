package logins

import (
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/authtest"
)

// The whole life of a login: none, by the page, through expiry in the middle of a call, over a restart, revoked.
func TestLifeOfALogin(t *testing.T) {
	w := newWorld(t, authtest.Faults{Life: 4 * time.Second}, "type: auto")
	w.serve()
	w.state("needs-login")

	out, err := w.run("", "status", "--connect", w.port())
	if err != nil {
		t.Fatalf("status: %v: %s", err, out)
	}
	contains(t, "status", out, "needs-login", "goblin-actor login safe")

	// Nothing is known of the server yet, so nothing is listed: the person logs in by the command's page.
	if out, err := w.run("", "login", "safe", "--connect", w.port(), "--device"); err != nil || !strings.Contains(out, "logged in at safe") || !strings.Contains(out, "ABCD-EFGH") {
		t.Fatalf("login --device: %v: %s", err, out)
	}
	w.state("ready")
	contains(t, "call", w.call("safe_echo"), "done")

	if out, err := w.run("", "logout", "safe", "--connect", w.port()); err != nil || !strings.Contains(out, "logged out at safe") {
		t.Fatalf("logout: %v: %s", err, out)
	}
	w.state("needs-login")
	contains(t, "list without login", w.post("tools/list", "", ""), "safe_echo")
	refused := w.call("safe_echo")
	contains(t, "last page", w.logIn(w.loginURL(refused)), "You are logged in at safe")
	contains(t, "call after the login", w.call("safe_echo"), "done")

	// The token expires in the middle of a call, and others go on with the next one.
	slow := make(chan string)
	go func() { slow <- w.call("safe_slow") }()
	<-w.tools.begun
	before := w.issuer.Refreshes()
	for deadline := time.Now().Add(time.Minute); w.issuer.Refreshes() < before+2 && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if got := w.post("tools/call", "safe_echo", `"name":"safe_echo",`); !strings.Contains(got, "done") {
			t.Fatalf("while the token is renewed: %s", got)
		}
	}
	w.issuer.Revoke(false) // all access tokens, at once: the next call is refused, renewed and sent again
	contains(t, "call with a revoked token", w.post("tools/call", "safe_echo", `"name":"safe_echo",`), "done")
	w.tools.release <- struct{}{}
	contains(t, "call in the middle of which the token expired", <-slow, "done")

	// A restart needs no login.
	if err := w.gate.End(); err != nil {
		t.Fatal(err)
	}
	w.serve()
	w.state("ready")
	contains(t, "call after a restart", w.call("safe_echo"), "done")

	// The authorization server ends the login.
	w.issuer.Revoke(true)
	refused = w.call("safe_echo")
	w.loginURL(refused)
	w.state("needs-login")
	contains(t, "list after the end", w.post("tools/list", "", ""), "safe_echo")
}
