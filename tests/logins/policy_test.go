package logins

import (
	"strings"
	"testing"

	"goblin-actor/internal/authtest"
)

// With a policy and without keys, the local user gets a login page only with a role that may operate the gateway.
func TestLoginUnderAPolicy(t *testing.T) {
	for _, acts := range []bool{true, false} {
		w := newWorld(t, authtest.Faults{}, "type: auto")
		role := map[bool]string{true: "admin: act", false: "admin: view"}[acts]
		w.append("policy: {roles: {own: {" + role + "}}, bind: [{role: own, local: true}]}\n")
		w.serve()
		w.state("needs-login")
		if out, err := w.run("", "login", "safe", "--connect", w.port(), "--device"); err != nil { // its tools are unknown until the first login
			t.Fatalf("login: %v: %s", err, out)
		}
		w.state("ready")
		if out, err := w.run("", "logout", "safe", "--connect", w.port()); err != nil {
			t.Fatalf("logout: %v: %s", err, out)
		}
		w.state("needs-login")
		refused := w.call("safe_echo")
		if !acts {
			contains(t, "without a role", refused, "-31008", "goblin-actor login safe")
			if strings.Contains(refused, "loginUrl") {
				t.Errorf("the error contains a URL that this user may not use: %s", refused)
			}
			continue
		}
		contains(t, "the page", w.logIn(w.loginURL(refused)), "You are logged in to safe")
		contains(t, "call", w.call("safe_echo"), "done")
	}
}
