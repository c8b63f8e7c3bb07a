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

// A program may be limited to a project. The limit also applies to calls with their own Questions.
func TestProject(t *testing.T) {
	c := gateway.Config{YAML: []byte(`{projects: {p: {tools: {deny: ["notes_*"]}}}, metaTools: false}`), Project: "p"}
	ctx, g := within(t), start(t, c, "clock", "notes")
	tools, err := g.ListTools(ctx, true)
	if err != nil || len(tools) == 0 || slices.ContainsFunc(tools, func(t gateway.Tool) bool { return t.Server != "clock" }) {
		t.Errorf("tools of the project: %v, %v, want only those of clock", tools, err)
	}
	for _, o := range []*gateway.CallOptions{nil, {Questions: &gateway.Questions{}}} {
		if _, err := g.CallTool(ctx, "notes_search_notes", nil, o); codeOf(err) != "TOOL_NOT_FOUND" {
			t.Errorf("call of a tool outside the project: %v", err)
		}
	}
	c.Project = "unknown"
	if _, err := gateway.Start(ctx, c); codeOf(err) != "UNKNOWN_PROJECT" {
		t.Errorf("Start with an unknown project: %v", err)
	}
}

// The policy treats a program as a client without authentication: items that no role permits are hidden. The audit log
// records the program's calls. Settings of listeners have no effect.
func TestPolicyAndAudit(t *testing.T) {
	log := filepath.Join(t.TempDir(), "audit.jsonl")
	yaml := fmt.Sprintf(`{auth: {keys: none.yaml}, tls: {cert: none, key: none}, metaTools: false, audit: {file: %q},
		policy: {roles: {clock: {servers: [clock]}}, bind: [{role: clock, local: true}]}}`, log)
	ctx, g := within(t), start(t, gateway.Config{YAML: []byte(yaml)}, "clock", "notes")
	tools, err := g.ListTools(ctx, true)
	if err != nil || len(tools) == 0 || slices.ContainsFunc(tools, func(t gateway.Tool) bool { return t.Server != "clock" }) {
		t.Errorf("tools that the policy permits: %v, %v, want only those of clock", tools, err)
	}
	if _, err := g.CallTool(ctx, "notes_search_notes", nil, nil); codeOf(err) != "TOOL_NOT_FOUND" {
		t.Errorf("call of a tool that no role permits: %v", err)
	}
	if _, err := g.CallTool(ctx, "clock_now", nil, nil); err != nil {
		t.Error(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(log); err != nil || !strings.Contains(string(text), `"who":"local"`) || !strings.Contains(string(text), `"item":"now"`) {
		t.Errorf("the audit log lacks the call of now by local: %s, %v", text, err)
	}
}

// A role's rate does not limit a program, but its toolRate does.
func TestRatesOfAPolicy(t *testing.T) {
	yaml := `{metaTools: false, policy: {roles: {own: {rate: 1/h, toolRate: 2/h}}, bind: [{role: own, local: true}]}}`
	ctx, g := within(t), start(t, gateway.Config{YAML: []byte(yaml)}, "clock")
	for range 4 {
		if _, err := g.ListTools(ctx, true); err != nil {
			t.Fatalf("list tools: %v", err)
		}
	}
	for n := range 3 {
		_, err := g.CallTool(ctx, "clock_now", nil, nil)
		if n < 2 && err != nil || n == 2 && codeOf(err) != "RATE_LIMITED" {
			t.Errorf("call %d: %v", n, err)
		}
	}
}
