package gateway_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"goblin-actor/gateway"
)

// A program may be limited to a project. That includes calls with Questions of their own.
func TestProject(t *testing.T) {
	c := gateway.Config{YAML: []byte(`{projects: {p: {tools: {deny: ["notes_*"]}}}, metaTools: false}`), Project: "p"}
	ctx, g := within(t), start(t, c, "clock", "notes")
	tools, err := g.ListTools(ctx, true)
	if err != nil || len(tools) == 0 || slices.ContainsFunc(tools, func(t gateway.Tool) bool { return t.Server != "clock" }) {
		t.Errorf("%v, %v", tools, err)
	}
	for _, o := range []*gateway.CallOptions{nil, {Questions: &gateway.Questions{}}} {
		if _, err := g.CallTool(ctx, "notes_search_notes", nil, o); codeOf(err) != "TOOL_NOT_FOUND" {
			t.Errorf("a tool outside the project: %v", err)
		}
	}
	c.Project = "nobody's"
	if _, err := gateway.Start(ctx, c); codeOf(err) != "UNKNOWN_PROJECT" {
		t.Errorf("an unknown project: %v", err)
	}
}

// A program is treated as a client without authentication: the policy hides what no role permits, and the audit log records
// its calls. Settings of listeners have no effect.
func TestPolicyAndAudit(t *testing.T) {
	log := filepath.Join(t.TempDir(), "audit.jsonl")
	yaml := fmt.Sprintf(`{auth: {keys: none.yaml}, tls: {cert: none, key: none}, metaTools: false, audit: {file: %q},
		policy: {roles: {clock: {servers: [clock]}}, bind: [{role: clock, local: true}]}}`, log)
	ctx, g := within(t), start(t, gateway.Config{YAML: []byte(yaml)}, "clock", "notes")
	tools, err := g.ListTools(ctx, true)
	if err != nil || len(tools) == 0 || slices.ContainsFunc(tools, func(t gateway.Tool) bool { return t.Server != "clock" }) {
		t.Errorf("%v, %v", tools, err)
	}
	if _, err := g.CallTool(ctx, "notes_search_notes", nil, nil); codeOf(err) != "TOOL_NOT_FOUND" {
		t.Errorf("a tool that no role permits: %v", err)
	}
	if _, err := g.CallTool(ctx, "clock_now", nil, nil); err != nil {
		t.Error(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(log); err != nil || !strings.Contains(string(text), `"who":"local"`) || !strings.Contains(string(text), `"item":"now"`) {
		t.Errorf("the audit log: %s, %v", text, err)
	}
}

// The rate of requests is not limited for a program. The policy's rate limits of tools apply.
func TestRatesOfAPolicy(t *testing.T) {
	yaml := `{metaTools: false, policy: {roles: {own: {rate: 1/h, toolRate: 2/h}}, bind: [{role: own, local: true}]}}`
	ctx, g := within(t), start(t, gateway.Config{YAML: []byte(yaml)}, "clock")
	for range 4 {
		if _, err := g.ListTools(ctx, true); err != nil {
			t.Fatalf("a list: %v", err)
		}
	}
	for n := range 3 {
		_, err := g.CallTool(ctx, "clock_now", nil, nil)
		if n < 2 && err != nil || n == 2 && codeOf(err) != "RATE_LIMITED" {
			t.Errorf("call %d: %v", n, err)
		}
	}
}
