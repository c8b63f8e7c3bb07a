package interop

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"goblin-actor/internal/gatetest"
)

// newKey creates a key with the binary.
func newKey(t *testing.T, dir, name string, more ...string) string {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"key", "new", name, "--file", filepath.Join(dir, "keys.yaml")}, more...)...)
	cmd.Env = environment(dir)
	said, err := cmd.Output()
	if err != nil {
		t.Fatalf("key new: %v: %s", err, said)
	}
	return strings.TrimSpace(string(said))
}

// serveWithKeys starts a gateway that requires keys. A key whose name starts with writer may do everything. One whose name starts with reader may
// call only tools named echo.
func serveWithKeys(t *testing.T, dir string, servers map[string]any) *gateway {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"mcpServers": servers, "metaTools": false,
		"auth": map[string]any{"keys": "keys.yaml"},
		"policy": map[string]any{
			"roles": map[string]any{"all": map[string]any{}, "echoes": map[string]any{"tools": map[string]any{"allow": []string{"*_echo"}}}},
			"bind":  []any{map[string]any{"role": "all", "keys": []string{"writer*"}}, map[string]any{"role": "echoes", "keys": []string{"reader*"}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "goblin.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return serveFile(t, dir, file)
}

// Every SDK can send a key over HTTP. The client sees and calls what the key's roles permit, and nothing else. Without a
// key, and with an unknown one, the client is refused.
func TestKeys(t *testing.T) {
	dir := gatetest.ShortDir(t)
	writer, reader := newKey(t, dir, "writer-ada"), newKey(t, dir, "reader-ci", "--expires", "90d")
	g := serveWithKeys(t, dir, map[string]any{"ev": npmServer(t, "server-everything")})
	for _, c := range shown(callers(t)) {
		if c.way == overStdio || c.name == inspectorName { // the inspector's command line cannot send headers
			continue
		}
		url := g.url
		if c.way == overSSE {
			url = g.base + "/sse"
		}
		t.Run(c.name+" "+c.version+" over "+string(c.way), func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), talkTime)
			defer stop()
			for _, bad := range []string{"", strings.Repeat("x", len(reader)), reader[:len(reader)-1]} {
				if p, err := c.dial(ctx, target{url: url, key: bad}, answers{}); err == nil {
					_ = p.close()
					t.Errorf("admitted with the key %q", bad)
				}
			}
			all := toolsWith(t, ctx, c, target{url: url, key: writer})
			if !slices.Contains(all, "ev_get-sum") || !slices.Contains(all, "ev_echo") {
				t.Errorf("an unrestricted key sees %q", all)
			}
			if few := toolsWith(t, ctx, c, target{url: url, key: reader}); !slices.Equal(few, []string{"ev_echo"}) {
				t.Errorf("a key for echo sees %q", few)
			}
		})
	}
}

// toolsWith lists the tools and calls ev_echo. A call of ev_get-sum must succeed if the tool is listed, and otherwise
// fail.
func toolsWith(t *testing.T, ctx context.Context, c caller, to target) []string {
	t.Helper()
	p, err := c.dial(ctx, to, answers{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	tools, err := p.list(ctx, "tools")
	if err != nil {
		t.Fatal(err)
	}
	if pieces, err := p.call(ctx, "ev_echo", map[string]any{"message": "hi"}, nil); err != nil || text(pieces) != "Echo: hi" {
		t.Errorf("ev_echo: %q, %v", text(pieces), err)
	}
	_, err = p.call(ctx, "ev_get-sum", map[string]any{"a": 2, "b": 3}, nil)
	if listed := slices.Contains(tools, "ev_get-sum"); listed != (err == nil) {
		t.Errorf("ev_get-sum: listed %v, called: %v", listed, err)
	}
	return tools
}
