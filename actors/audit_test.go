package actors

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
)

const callModern = `,"name":"one_add","arguments":{"secret":"hush"}`

// withAuditLog returns the path of a new audit log, and the configuration change that enables it.
func withAuditLog(t *testing.T, change func(*config.Audit)) (path string, set func(*config.Config)) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "audit.jsonl")
	return path, func(c *config.Config) {
		c.Audit.File = path
		if change != nil {
			change(&c.Audit)
		}
	}
}

// auditLines reads the log and verifies it with the key that it names.
func auditLines(t *testing.T, path string) (lines []audit.Line) {
	t.Helper()
	report, err := audit.Verify(audit.Files(path), audit.Trust{})
	if err != nil || report.Fault != nil {
		t.Errorf("verify: %v %v", report.Fault, err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		l, err := audit.ParseLine([]byte(strings.TrimSuffix(line, "\n")))
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		lines = append(lines, l)
	}
	if strings.Contains(string(raw), "hush") {
		t.Error("the log contains an argument")
	}
	return lines
}

// auditEvents returns each record's event, principal, method, server, item, decision and outcome, separated by spaces. It omits file
// records and checkpoints.
func auditEvents(lines []audit.Line) (list []string) {
	for _, l := range lines {
		switch l.Event {
		case audit.EventFile, audit.EventCheckpoint:
		default:
			list = append(list, strings.Join(slices.DeleteFunc([]string{l.Event, l.Who, l.Method, l.Server, l.Item, l.Decision, l.Outcome}, func(s string) bool { return s == "" }), " "))
		}
	}
	return list
}

// S5.5.1: the audit log has a record of every call.
func TestAuditLogRecordsEveryCall(t *testing.T) {
	for _, sync := range []string{audit.SyncSecond, audit.SyncEach, audit.SyncNever} {
		t.Run(sync, func(t *testing.T) {
			path, set := withAuditLog(t, func(a *config.Audit) { a.Sync, a.When = sync, "both" })
			t.Run("while it runs", func(t *testing.T) {
				w := startHTTP(t, map[string]*actortest.Server{"one": {Tools: []string{"add"}}}, set)
				session := w.open("/mcp")
				w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_add","arguments":{"secret":"hush"}}}`, "Mcp-Session-Id", session)
				w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_rm","arguments":{}}}`, "Mcp-Session-Id", session)
				status, answer := w.raw("/mcp", modern(3, "tools/call", "{}", callModern), "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: one_add")
				if status != 200 || !strings.Contains(string(answer), "echo") {
					t.Errorf("modern call: %d %s", status, answer)
				}
			})
			lines := auditLines(t, path)
			want := []string{"start",
				"begin local tools/call one add allow", "call local tools/call one add allow ok",
				"call local tools/call one_rm deny TOOL_NOT_FOUND",
				"begin local tools/call one add allow", "call local tools/call one add allow ok",
				"stop"}
			// The records of the session are in order, and so are those of the stateless session. The two may
			// interleave in any way, because a record may be written after its response.
			if got := auditEvents(lines); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) || got[0] != "start" || got[len(got)-1] != "stop" {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			begin, end := lines[2], lines[3]
			if begin.Call == "" || begin.Call != end.Call || len(end.Args) != 32 || end.In == 0 || end.Out == 0 || end.Millis <= 0 || end.Peer != "127.0.0.1" || len(end.Session) != 8 {
				t.Errorf("got %+v", end)
			}
			if lines[len(lines)-1].Event != audit.EventCheckpoint {
				t.Errorf("the log ends with %+v", lines[len(lines)-1])
			}
		})
	}
}

// The gateway does not start if a required audit log cannot be opened.
func TestRequiredAuditLogMustOpen(t *testing.T) {
	cfg := config.Default()
	cfg.Audit.File = filepath.Join(t.TempDir(), "no", "audit.jsonl")
	if _, err := Start(&cfg, Options{}); err == nil || !strings.Contains(err.Error(), "open audit log") {
		t.Errorf("got %v", err)
	}
}

// When several reloads follow each other, changed audit settings are applied one after the other, and those of the last
// reload end up in force. Settings that could not be applied are tried again at the next reload, and only then.
func TestReloadsOfTheAuditLogInOrder(t *testing.T) {
	s := newState(&config.Config{}, kernel.Reference{})
	applied := func(msg any) (files []string) {
		for _, e := range step(s, time.Time{}, msg, nil) {
			if a, is := e.Act.(applyAudit); is {
				files = append(files, filepath.Base(a.settings.File))
			}
		}
		return files
	}
	dir := t.TempDir()
	reload := func(file string) message.Reload {
		return message.Reload{Config: &config.Config{Audit: config.Audit{File: filepath.Join(dir, file)}}}
	}
	for i, test := range []struct {
		msg  any
		want string
	}{
		{reload("a"), "[a]"}, {reload("b"), "[]"}, {reload("c"), "[]"}, {auditApplied{}, "[c]"}, {auditApplied{errors.New("no room")}, "[]"},
		{reload("c"), "[c]"}, {auditApplied{}, "[]"}, {reload("c"), "[]"},
		{reload("d"), "[d]"}, {reload("c"), "[]"}, {auditApplied{}, "[c]"}, {auditApplied{}, "[]"},
		{reload("d"), "[d]"}, {reload("c"), "[]"}, {auditApplied{errors.New("no room")}, "[]"}, {reload("d"), "[d]"},
	} {
		if got := fmt.Sprint(applied(test.msg)); got != test.want {
			t.Errorf("%d: %T applied %s, want %s", i, test.msg, got, test.want)
		}
	}
}

func TestReloadMovesTheAuditLog(t *testing.T) {
	path, set := withAuditLog(t, nil)
	other := filepath.Join(t.TempDir(), "other.jsonl")
	t.Run("while it runs", func(t *testing.T) {
		w := startHTTP(t, map[string]*actortest.Server{"one": {Tools: []string{"add"}}}, set)
		cfg := config.Default()
		cfg.MetaTools = "false"
		cfg.Audit.File = other
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := w.gateway.Apply(ctx, &cfg); err != nil {
			t.Fatal(err)
		}
		if s := w.gateway.Audit().State(); s.File != other {
			t.Errorf("after the reload the audit log is %s", s.File)
		}
	})
	if got := auditEvents(auditLines(t, path)); len(got) != 2 || !strings.HasPrefix(got[1], "reload ok") && got[1] != "reload ok" {
		t.Errorf("the old log has %q", got)
	}
	if got := auditEvents(auditLines(t, other)); !slices.Equal(got, []string{"stop"}) {
		t.Errorf("the new log has %q", got)
	}
}

// A forged requestState, or one of another principal, is refused and recorded in the audit log.
func TestForeignRequestStateIsRecorded(t *testing.T) {
	path, set := withAuditLog(t, nil)
	t.Run("while it runs", func(t *testing.T) {
		w := startHTTP(t, map[string]*actortest.Server{"one": parkingServer()}, func(c *config.Config) { withAuth(c); set(c) })
		const call = `,"name":"one_ask","arguments":{"a":1},"inputResponses":{"a":{"action":"accept","content":{}}}`
		first := parseModern(t, w.modernAs("alice", "tools/call", allCapabilities, call).body)
		w.modernAs("mallory", "tools/call", allCapabilities, fmt.Sprintf(`%s,"requestState":%q`, call, first.Result.RequestState))
		w.modernAs("bob", "tools/call", allCapabilities, call+`,"requestState":"forged"`)
	})
	got := auditEvents(auditLines(t, path))
	for _, who := range []string{"mallory", "bob"} {
		if want := "denied key:" + who + " tools/call deny REQUEST_STATE_INVALID"; !slices.Contains(got, want) {
			t.Errorf("got\n%s\nwant %s", strings.Join(got, "\n"), want)
		}
	}
}

// A request or stream with another principal's session ID gets no hint in the response. The audit log and the denials record who sent it.
func TestStolenSessionIsRecorded(t *testing.T) {
	path, set := withAuditLog(t, nil)
	t.Run("while it runs", func(t *testing.T) {
		w := startHTTP(t, oneTool(), func(c *config.Config) { withAuth(c); set(c) })
		session := w.openAs("alice", "/mcp")
		call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_ask","arguments":{}}}`
		w.do("POST", "/mcp", call, asUser("alice", "Mcp-Session-Id", session)...)
		if r := w.do("POST", "/mcp", call, asUser("mallory", "Mcp-Session-Id", session)...); r.status != 404 {
			t.Errorf("got %d", r.status)
		}
		if _, r := w.listen("/mcp", asUser("mallory", "Mcp-Session-Id", session)...); r.StatusCode != 404 {
			t.Errorf("a stream: got %d", r.StatusCode)
		}
		w.do("DELETE", "/mcp", "", asUser("mallory", "Mcp-Session-Id", session)...)
		var denied []string
		for _, d := range w.gateway.Metrics().Denials() {
			denied = append(denied, fmt.Sprintf("%s %s ×%d", d.Who, d.What, d.Times))
		}
		if got := strings.Join(denied, ", "); got != "mallory end ×1, mallory stream ×1, mallory tools/call ×1" {
			t.Errorf("denials: %s", got)
		}
		w.gateway.UpdatePrincipals(map[string]*identity.Principal{"key:alice": nil})
	})
	want := []string{"start", "call key:alice tools/call one ask allow ok", "denied key:mallory tools/call deny SESSION_OF_ANOTHER", "key key:alice revoked",
		"stop", "denied key:mallory tools/call deny SESSION_OF_ANOTHER"} // further attempts are counted and recorded at the end
	if got := auditEvents(auditLines(t, path)); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A request for another principal's task is recorded as denied.
func TestForeignTaskIsRecordedAsDenied(t *testing.T) {
	path, set := withAuditLog(t, nil)
	t.Run("while it runs", func(t *testing.T) {
		w := startHTTP(t, oneTool(), func(c *config.Config) { withAuth(c); set(c) }, modernTaskServer().Open)
		w.modernAs("alice", "tools/call", tasksCapability, `,"name":"one_dig"`)
		w.modernAs("mallory", "tasks/get", tasksCapability, `,"taskId":"one/7~x"`)
	})
	got := auditEvents(auditLines(t, path))
	if !slices.ContainsFunc(got, func(line string) bool {
		return strings.HasPrefix(line, "call key:mallory tasks/get") && strings.Contains(line, " deny ")
	}) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}
