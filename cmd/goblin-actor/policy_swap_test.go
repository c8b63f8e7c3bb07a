package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/cli"
	"goblin-actor/internal/gatetest"
)

// Two roles repeatedly swap their contents while a key is bound to the other role, so that it may always see notes and
// never clock. This must hold during and after each reload. The audit log records when the key gets another role, but
// not when only the text of its role changes.
func TestSwappedRoles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, value := range map[string]string{"XDG_RUNTIME_DIR": gatetest.ShortDir(t), "XDG_STATE_HOME": dir, "GOBLIN_CONFIG": "", "GOBLIN_KEY": ""} {
		t.Setenv(name, value)
	}
	path := filepath.Join(dir, "goblin.yaml")
	write := func(ann, bob, mine string) {
		t.Helper()
		text := fmt.Sprintf("listen: 127.0.0.1:0\nauth: {keys: keys.yaml}\naudit: {file: audit.jsonl}\nmetaTools: false\nmcpServers:\n  notes: {command: goblin-actor, args: [demo, notes]}\n"+
			"  clock: {command: goblin-actor, args: [demo, clock]}\npolicy: {roles: {ann: {%s}, bob: {%s}}, bind: [{role: %s, keys: [ci]}]}\n", ann, bob, mine)
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	const all, notes = "", "servers: [notes]"
	write(all, notes, "bob")
	var key, errOut bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), gatetest.Patience)
	defer cancel()
	if code := cli.Run(ctx, []string{"key", "new", "ci", "--config", path}, strings.NewReader(""), &key, &errOut); code != 0 {
		t.Fatalf("key new: %d %s", code, errOut.String())
	}
	gateway := startPlanted(t, path)
	sees := func(when string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, gateway.url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
			"Mcp-Method": "tools/list", "Authorization": "Bearer " + strings.TrimSpace(key.String())} {
			request.Header.Set(name, value)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil || !bytes.Contains(body, []byte(`"notes_`)) || bytes.Contains(body, []byte(`"clock_`)) {
			t.Fatalf("%s: %s %s %v", when, response.Status, body, err)
		}
	}
	sees("before")
	for i := range 6 {
		if i%2 == 0 {
			write(notes, all, "ann")
		} else {
			write(all, notes, "bob")
		}
		in := make(chan error, 1)
		go func() { in <- gateway.reload(ctx) }()
		for reloading := true; reloading; {
			select {
			case err := <-in:
				if reloading = false; err != nil {
					t.Fatal(err)
				}
			default:
			}
			sees(fmt.Sprintf("change %d, reloading: %v", i, reloading))
		}
		for answered := time.Now(); time.Since(answered) < 20*time.Millisecond; {
			sees(fmt.Sprintf("change %d, in force", i))
		}
	}
	write(all, notes+", tools: {deny: [none]}", "bob")
	if err := gateway.reload(ctx); err != nil {
		t.Fatal(err)
	}
	sees("equal rights, written differently")
	gateway.stop(t)
	lines := doorLines(t, filepath.Join(dir, "audit.jsonl"))
	if n := len(slices.DeleteFunc(lines, func(line string) bool { return line != "key key:ci changed" })); n != 6 {
		t.Errorf("%d role changes recorded, want 6", n)
	}
}
