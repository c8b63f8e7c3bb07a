package serving

import (
	"log/slog"
	"net"
	"strings"
	"testing"

	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
)

// The URL of the login pages follows the current configuration and the scheme of the listeners. There is none once
// clients must authenticate, and none for a shared login if the policy does not let unauthenticated clients operate the
// gateway.
func TestLoginPageURL(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	first := config.Default()
	e, err := NewSecurity(&first, true, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer e.gate.Close()
	tell := e.LoginURL(LoginPages(e, []net.Listener{l}))
	here := "http://" + l.Addr().String() + "/login/"
	for _, step := range []struct {
		name   string
		change func(*config.Config)
		want   string
	}{
		{"at first", func(*config.Config) {}, here},
		{"TLS, from the next start", func(c *config.Config) { c.TLS.Cert, c.TLS.Key = "none.crt", "none.key" }, here},
		{"another name", func(c *config.Config) { c.PublicURL = "http://localhost:8000/tools/" }, "http://localhost:8000/tools/login/"},
		{"the name of another machine", func(c *config.Config) { c.PublicURL = "https://mcp.example.com" }, here},
		{"a policy without a role that may act", func(c *config.Config) { c.Policy = actsFor("view") }, ""},
		{"a policy whose role for unauthenticated clients may act", func(c *config.Config) { c.Policy = actsFor("act") }, here},
		{"a policy that only reports", func(c *config.Config) { c.Policy = actsFor("none"); c.Policy.Mode = "report" }, here},
		{"keys", func(c *config.Config) { c.Auth.Keys = "none.yaml" }, ""},
	} {
		next := config.Default()
		step.change(&next)
		_ = e.apply(&next) // there are no such files
		if got := tell(message.LoginKey{Entry: "a"}); !strings.HasPrefix(got, step.want) || (got == "") != (step.want == "") {
			t.Errorf("%s: URL %s, want one below %s", step.name, got, step.want)
		}
		if got := tell(message.LoginKey{Entry: "a", Lane: "local"}); (got == "") != (next.Auth.Keys != "") {
			t.Errorf("%s: URL of the user's own login %q", step.name, got)
		}
	}
}

// actsFor returns a policy whose only role has the given admin level and is for unauthenticated clients.
func actsFor(admin string) config.Policy {
	return config.Policy{Present: true, Roles: []config.Role{{Name: "own", Admin: admin}}, Bind: []config.Binding{{Role: "own", Local: true}}}
}
