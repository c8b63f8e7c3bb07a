package serving

import (
	"log/slog"
	"net"
	"strings"
	"testing"

	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
)

// Login pages are where the newest configuration says that browsers reach us, in what the listeners really speak, and nowhere once clients are
// asked who they are.
func TestWhereLoginPagesAre(t *testing.T) {
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
		{"a name that is not of this machine", func(c *config.Config) { c.PublicURL = "https://mcp.example.com" }, here},
		{"a policy that lets nobody act for all", func(c *config.Config) { c.Policy = actsFor("view") }, ""},
		{"a policy that lets whoever is not asked", func(c *config.Config) { c.Policy = actsFor("act") }, here},
		{"a policy that only reports", func(c *config.Config) { c.Policy = actsFor("none"); c.Policy.Mode = "report" }, here},
		{"keys", func(c *config.Config) { c.Auth.Keys = "none.yaml" }, ""},
	} {
		next := config.Default()
		step.change(&next)
		_ = e.apply(&next) // there are no such files
		if got := tell(message.LoginKey{Entry: "a"}); !strings.HasPrefix(got, step.want) || (got == "") != (step.want == "") {
			t.Errorf("%s: %s, want one below %s", step.name, got, step.want)
		}
		if got := tell(message.LoginKey{Entry: "a", Lane: "local"}); (got == "") != (next.Auth.Keys != "") {
			t.Errorf("%s: one's own login is at %q", step.name, got)
		}
	}
}

// actsFor is a policy with a role for whoever is not asked.
func actsFor(admin string) config.Policy {
	return config.Policy{Present: true, Roles: []config.Role{{Name: "own", Admin: admin}}, Bind: []config.Binding{{Role: "own", Local: true}}}
}
