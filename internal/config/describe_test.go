package config

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDescribe checks that Describe lists the changed keys, with old and new values only if they cannot be secret.
func TestDescribe(t *testing.T) {
	base := func() *Config {
		c := Default()
		files, web := DefaultServer(), DefaultServer()
		files.Name, files.Command, files.Args, files.Env = "files", "npx", []string{"-y"}, map[string]string{"TOKEN": "sworDfish"}
		web.Name, web.Order, web.URLs = "web", 1, []string{"http://a/?key=sworDfish"}
		c.Servers = []Server{files, web}
		return &c
	}
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   []string
	}{
		{"nothing", func(*Config) {}, nil},
		{"a list", func(c *Config) { c.Servers[0].Args = []string{"-y", "--token=sworDfish2"} }, []string{"files: args"}},
		{"a duration and a number", func(c *Config) { c.Servers[0].Timeout = time.Minute; c.Servers[0].Queue.Size = 7 },
			[]string{"files: queue.size 1024 → 7, timeout 30s → 1m0s"}},
		{"a mapping", func(c *Config) { c.Servers[0].Env = map[string]string{"TOKEN": "sworDfish2"} }, []string{"files: env"}},
		{"a filter", func(c *Config) { c.Servers[1].Tools.Deny = []string{"x"} }, []string{"web: tools.deny"}},
		{"a word", func(c *Config) { c.Servers[1].Balance = "least-busy"; c.Log.Level = "debug" },
			[]string{"web: balance round-robin → least-busy", "log.level info → debug"}},
		{"limits", func(c *Config) { c.Limits.MaxSessions = 200; c.Limits.MaxMessageBytes = 1 << 20 },
			[]string{"limits.maxMessageBytes 64MiB → 1MiB", "limits.maxSessions 10000 → 200"}},
		{"a section of one key", func(c *Config) { c.Drain = 0 }, []string{"shutdown.drain 10s → 0s"}},
		{"a fault", func(c *Config) { c.Servers[0].Fault = "variable X is not set" }, []string{"files: now misconfigured"}},
		{"a place", func(c *Config) { c.Servers[0].Order, c.Servers[1].Order = 1, 0 }, []string{"files: position in the file", "web: position in the file"}},
		{"another server", func(c *Config) { c.Servers = append(c.Servers, Server{Name: "new"}) }, nil},
		{"a server that stands for a member here", func(c *Config) {
			member := c.Servers[0]
			member.MemberOf, member.Command = "group", "other"
			c.Servers = append(c.Servers, member)
		}, nil},
		{"addresses", func(c *Config) { c.Listen = []string{"127.0.0.1:1"} }, []string{"listen"}},
	} {
		next := base()
		c.change(next)
		got := Describe(base(), next)
		if !slices.Equal(got, c.want) || strings.Contains(strings.Join(got, ""), "ordfish") {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
