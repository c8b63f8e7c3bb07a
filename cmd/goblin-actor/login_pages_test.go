package main

import (
	"log/slog"
	"net"
	"strings"
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/internal/login"
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
	e, err := newEdge(&first, true, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer e.gate.Close()
	pages := loginPages(e, []net.Listener{l})
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
		{"keys", func(c *config.Config) { c.Auth.Keys = "none.yaml" }, ""},
	} {
		next := config.Default()
		step.change(&next)
		_ = e.apply(&next) // there are no such files
		if got := pages.URL(login.Key{Entry: "a"}); !strings.HasPrefix(got, step.want) || (got == "") != (step.want == "") {
			t.Errorf("%s: %s, want one below %s", step.name, got, step.want)
		}
	}
}
