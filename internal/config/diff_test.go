package config

import (
	"fmt"
	"strings"
	"testing"
)

// describe formats changes on one line.
func describe(c Changes) string {
	var parts []string
	for _, list := range []struct {
		word    string
		servers []Server
	}{{"added", c.Added}, {"removed", c.Removed}, {"catalog", c.CatalogOnly}, {"transport", c.Transport}} {
		for _, s := range list.servers {
			parts = append(parts, list.word+" "+s.Name)
		}
	}
	if c.Listen {
		parts = append(parts, "listen")
	}
	if len(c.Settings) > 0 {
		parts = append(parts, fmt.Sprint("settings ", c.Settings))
	}
	return strings.Join(parts, ", ")
}

func TestDiff(t *testing.T) {
	const base = "mcpServers:\n  a: {command: x, env: {K: v}}\n  b: {url: http://127.0.0.1:1/mcp}\n"
	for _, c := range []struct{ name, file, want string }{
		{"nothing", base, ""},
		{"the same in other words", "{mcpServers: {a: {command: x, args: [], env: {K: v}, timeout: 30000ms}, b: {urls: [http://127.0.0.1:1/mcp], type: auto}}}", ""},
		{"added", base + "  c: {command: y}\n", "added c"},
		{"removed", "mcpServers: {a: {command: x, env: {K: v}}}", "removed b"},
		{"all", "", "removed a, removed b"},
		{"renamed", strings.Replace(base, "a:", "z:", 1), "added z, removed a"},
		{"another case of the name is not a change", strings.Replace(base, "a:", "A:", 1), ""},
		{"command", strings.Replace(base, "x,", "y,", 1), "transport a"},
		{"args", strings.Replace(base, "x,", "x, args: [y],", 1), "transport a"},
		{"env", strings.Replace(base, "K: v", "K: w", 1), "transport a"},
		{"cwd", strings.Replace(base, "x,", "x, cwd: /,", 1), "transport a"},
		{"url", strings.Replace(base, ":1/", ":2/", 1), "transport b"},
		{"headers", strings.Replace(base, "mcp}", "mcp, headers: {A: b}}", 1), "transport b"},
		{"disabled", strings.Replace(base, "x,", "x, disabled: true,", 1), "transport a"},
		{"a fault", strings.Replace(base, "x,", "x, timeout: \"${NO}\",", 1), "transport a"},
		{"filter", strings.Replace(base, "x,", "x, tools: {deny: [b]},", 1), "catalog a"},
		{"rename", strings.Replace(base, "x,", "x, tools: {rename: {b: c}},", 1), "catalog a"},
		{"no prefix", strings.Replace(base, "x,", `x, prefix: "",`, 1), "catalog a"},
		{"prefix, timeouts and limits", strings.Replace(base, "x,", "x, prefix: p, timeout: 1s, startTimeout: 1s, maxConcurrent: 1, queue: {size: 1},", 1), "catalog a"},
		{"description", strings.Replace(base, "x,", "x, description: d,", 1), "catalog a"},
		{"connection and other keys", strings.Replace(base, "x,", "y, description: d,", 1), "transport a"},
		{"order", "mcpServers:\n  b: {url: http://127.0.0.1:1/mcp}\n  a: {command: x, env: {K: v}}\n", "catalog b, catalog a"},
		{"listen", base + "listen: 127.0.0.1:1", "listen"},
		{"settings", base + "log: {level: debug}\nshutdown: {drain: 1s}\npageSize: 3", "settings [pageSize shutdown log]"},
	} {
		old, _ := Parse("old", []byte(base), noEnv)
		cfg, report := Parse("new", []byte(c.file), noEnv)
		if cfg == nil {
			t.Errorf("%s: %v", c.name, report.Err())
			continue
		}
		changes := Diff(old, cfg)
		if got := describe(changes); got != c.want || changes.Empty() != (c.want == "") {
			t.Errorf("%s: Diff = %q, want %q", c.name, got, c.want)
		}
	}
}
