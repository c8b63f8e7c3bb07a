package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/audit"
	"goblin-actor/internal/cli"
	"goblin-actor/internal/gatetest"
)

// S5.5.1: the audit log records refused requests, using few lines for a flood, and names created and revoked keys.
func TestAuditLogRecordsRefusals(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, value := range map[string]string{"XDG_RUNTIME_DIR": gatetest.ShortDir(t), "XDG_STATE_HOME": dir, "GOBLIN_CONFIG": "", "GOBLIN_KEY": ""} {
		t.Setenv(name, value)
	}
	path, log := filepath.Join(dir, "goblin.yaml"), filepath.Join(dir, "audit.jsonl")
	if err := os.WriteFile(path, []byte("listen: 127.0.0.1:0\nauth: {keys: keys.yaml}\naudit: {file: audit.jsonl}\nlog: {level: error}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	key := func(args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var out, errOut bytes.Buffer
		if code := cli.Run(ctx, append([]string{"key"}, args...), strings.NewReader(""), &out, &errOut); code != 0 {
			t.Fatalf("key %v: exit code %d, %s", args, code, errOut.String())
		}
		return strings.TrimSpace(out.String())
	}
	first := key("new", "ci", "--config", path)
	gateway := startPlanted(t, path)
	post := func(key string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, gateway.url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer " + key}}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
	for i := range 2000 {
		if status := post("gbl_stolen"); status != 401 && status != 429 {
			t.Fatalf("request %d: %d", i, status)
		}
	}
	holds := func(want string) {
		t.Helper()
		gatetest.WaitFor(t, want, func() (bool, string) {
			lines := doorLines(t, log)
			return slices.Contains(lines, want), strings.Join(lines, "\n")
		})
	}
	late := key("new", "late", "--config", path)
	holds("key key:late new")
	key("revoke", "ci", "--config", path)
	holds("key key:ci revoked")
	gateway.stop(t)
	raw, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	lines, refusals := 0, uint64(0)
	for text := range bytes.Lines(raw) {
		if line, err := audit.ParseLine(bytes.TrimSuffix(text, []byte("\n"))); err != nil {
			t.Error(err)
		} else if line.Event == audit.EventDenied {
			lines++
			refusals += max(1, line.Count)
		}
	}
	if lines > 2*2*2 || refusals != 2000 { // two kinds of refusals, in at most two minutes: for each, the first refusal and the summary
		t.Errorf("2000 refusals have %d lines with a total of %d", lines, refusals)
	}
	for _, secret := range []string{first, late, "gbl_stolen"} {
		if bytes.Contains(raw, []byte(secret)) {
			t.Error("the log contains a key")
		}
	}
}

// doorLines returns event, principal and outcome of the audit lines about refusals and keys.
func doorLines(t *testing.T, path string) (lines []string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for text := range bytes.Lines(raw) {
		line, err := audit.ParseLine(bytes.TrimSuffix(text, []byte("\n")))
		if err != nil { // the gateway is still writing the line
			continue
		}
		if line.Event == audit.EventDenied || line.Event == audit.EventKey {
			lines = append(lines, strings.Join(strings.Fields(line.Event+" "+line.Who+" "+line.Outcome), " "))
		}
	}
	return lines
}
