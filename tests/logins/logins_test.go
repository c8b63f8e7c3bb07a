package logins

import (
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/authtest"
)

// S5.4.2: The life of a login: absent, made on the page, renewed during a call, kept across a restart, revoked.
func TestLoginLifecycle(t *testing.T) {
	w := newWorld(t, authtest.Faults{Life: 4 * time.Second}, "type: auto")
	w.serve()
	w.state("needs-login")

	out, err := w.run("", "status", "--connect", w.port())
	if err != nil {
		t.Fatalf("status: %v: %s", err, out)
	}
	contains(t, "status", out, "needs-login", "goblin-actor login safe")

	// The server's tools are still unknown, so none is listed. The user logs in with the command.
	if out, err := w.run("", "login", "safe", "--connect", w.port(), "--device"); err != nil || !strings.Contains(out, "logged in to safe") || !strings.Contains(out, "ABCD-EFGH") {
		t.Fatalf("login --device: %v: %s", err, out)
	}
	w.state("ready")
	contains(t, "call", w.call("safe_echo"), "done")

	if out, err := w.run("", "logout", "safe", "--connect", w.port()); err != nil || !strings.Contains(out, "logged out of safe") {
		t.Fatalf("logout: %v: %s", err, out)
	}
	w.state("needs-login")
	contains(t, "list without login", w.post("tools/list", "", ""), "safe_echo")
	refused := w.call("safe_echo")
	contains(t, "last page", w.logIn(w.loginURL(refused)), "You are logged in to safe")
	contains(t, "call after the login", w.call("safe_echo"), "done")

	// The token expires during a call, while other calls use renewed tokens.
	slow := make(chan string)
	go func() { slow <- w.call("safe_slow") }()
	<-w.tools.begun
	before := w.issuer.Refreshes()
	for deadline := time.Now().Add(time.Minute); w.issuer.Refreshes() < before+2 && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if got := w.post("tools/call", "safe_echo", `"name":"safe_echo",`); !strings.Contains(got, "done") {
			t.Fatalf("call while the token is renewed: got %s, want done", got)
		}
	}
	w.issuer.Revoke(false) // the next call is refused, its token renewed, and the call repeated
	contains(t, "call with a revoked token", w.post("tools/call", "safe_echo", `"name":"safe_echo",`), "done")
	w.tools.release <- struct{}{}
	contains(t, "call during which the token expired", <-slow, "done")

	// After a restart no login is needed.
	if err := w.gate.End(); err != nil {
		t.Fatal(err)
	}
	w.serve()
	w.state("ready")
	contains(t, "call after a restart", w.call("safe_echo"), "done")

	// The authorization server revokes the login.
	w.issuer.Revoke(true)
	refused = w.call("safe_echo")
	w.loginURL(refused)
	w.state("needs-login")
	contains(t, "list after the end", w.post("tools/list", "", ""), "safe_echo")
}

// S5.4.3: Two users with keys have separate logins, and a third login serves the catalog. No client gets a URL that could log in another
// user.
func TestLoginsOfPrincipals(t *testing.T) {
	w := newWorld(t, authtest.Faults{}, "type: oauth, as: principal")
	keys := map[string]string{}
	w.append("auth: {keys: keys.yaml}\naudit: {file: audit.jsonl}\n")
	for _, name := range []string{"alice", "bob"} {
		out, err := w.run("", "key", "new", name, "--config", w.config)
		if err != nil {
			t.Fatalf("key new: %v: %s", err, out)
		}
		keys[name] = keyIn.FindString(out)
	}
	w.serve()
	w.state("needs-login")
	if out, err := w.paste(nil, "--connect", w.port(), "--catalog"); err != nil {
		t.Fatalf("login of the catalog: %v: %s", err, out)
	}
	w.state("ready")
	w.key = keys["alice"]
	refused := w.call("safe_echo")
	contains(t, "alice without login", refused, "-31008", "goblin-actor login safe")
	if strings.Contains(refused, "loginUrl") {
		t.Errorf("the error contains a login URL: %s", refused)
	}
	if out, err := w.paste([]string{"GOBLIN_KEY=" + keys["alice"]}, "--connect", w.port()); err != nil {
		t.Fatalf("login of alice: %v: %s", err, out)
	}
	contains(t, "alice", w.call("safe_echo"), "done")
	w.key = keys["bob"]
	contains(t, "bob without login", w.call("safe_echo"), "-31008")
	if out, err := w.paste([]string{"GOBLIN_KEY=" + keys["bob"]}, "--connect", w.port(), "--catalog"); err == nil || !strings.Contains(out, "belongs to another user") {
		t.Errorf("bob made a shared login: %v: %s", err, out)
	}
	before := w.server.Served()
	w.key = keys["alice"]
	contains(t, "alice again", w.call("safe_echo"), "done")
	after := w.server.Served()
	if len(after) != len(before)+1 || after[len(after)-1] == before[0] {
		t.Errorf("alice's call used the catalog's login, or was not sent once: %d and %d requests", len(before), len(after))
	}

	// Alice's key is revoked while no gateway runs, and a new key gets her name.
	hers := after[len(after)-1]
	if err := w.gate.End(); err != nil {
		t.Fatal(err)
	}
	if out, err := w.run("", "audit", "tail", "--who", "bob", "-o", "json", "--config", w.config); err != nil ||
		!strings.Contains(out, `"event":"login","who":"key:bob","via":"key","server":"safe","outcome":"failed"`) {
		t.Errorf("bob's attempt at a shared login is not in the audit log: %v: %s", err, out)
	}
	if out, err := w.run("", "key", "revoke", "alice", "--config", w.config); err != nil {
		t.Fatalf("key revoke: %v: %s", err, out)
	}
	out, err := w.run("", "key", "new", "alice", "--config", w.config)
	if err != nil {
		t.Fatalf("key new: %v: %s", err, out)
	}
	w.key = ""
	w.serve()
	w.key = keyIn.FindString(out)
	w.state("ready")
	contains(t, "another alice", w.call("safe_echo"), "-31008")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, _, valid := w.issuer.Valid(hers); !valid {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the login of the first alice was not revoked at the authorization server")
		}
	}
}

// A login can be made without a gateway, and a gateway that is started later uses it. While a gateway runs, such a login is refused. A login can
// also be made in a browser that the command opens.
func TestLoginWithoutGateway(t *testing.T) {
	w := newWorld(t, authtest.Faults{}, "type: auto")
	if out, err := w.paste(nil, "--config", w.config, "--state-dir", w.dir); err != nil || !strings.Contains(out, "logged in to safe") {
		t.Fatalf("login: %v: %s", err, out)
	}
	w.serve()
	w.state("ready")
	contains(t, "call", w.call("safe_echo"), "done")
	if out, err := w.run("", "logout", "safe", "--connect", w.port()); err != nil {
		t.Fatalf("logout: %v: %s", err, out)
	}
	w.state("needs-login")
	out, err := w.run("", "login", "safe", "--config", w.config, "--state-dir", w.dir)
	if err == nil {
		t.Error("login changed the state file of a running gateway")
	}
	contains(t, "login beside a gateway", out, "a running gateway uses this file", "--connect "+w.port())
	w.browser()
	if out, err := w.run("", "login", "safe", "--connect", w.port()); err != nil || !strings.Contains(out, "logged in to safe") {
		t.Fatalf("login by a browser: %v: %s", err, out)
	}
	contains(t, "call after it", w.call("safe_echo"), "done")
	out, err = w.run("", "login", "nosuch", "--connect", w.port())
	if err == nil {
		t.Error("login succeeded for an unknown server")
	}
	contains(t, "no such server", out, "error: ", "hint: ")
}

// Status output names a missing login and the command for it.
func TestStatusNamesMissingLogin(t *testing.T) {
	w := newWorld(t, authtest.Faults{}, "type: auto")
	w.serve()
	w.state("needs-login")
	for _, args := range [][]string{{"status", "--connect", w.port()}, {"list", "servers", "--connect", w.port()}, {"doctor", "--config", w.config}} {
		out, _ := w.run("", args...)
		contains(t, strings.Join(args, " "), out, "goblin-actor login safe")
	}
}
