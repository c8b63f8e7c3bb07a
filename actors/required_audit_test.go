//go:build linux

package actors

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/config"
	"goblin-actor/protocol/downstream"
)

// limitFileSize makes writes fail as on a full disk if they would make a file larger than the given number of bytes. The
// returned function removes the limit.
func limitFileSize(t *testing.T, beyond int64) (again func()) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(beyond), Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	again = func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
			t.Error(err)
		}
		signal.Reset(syscall.SIGXFSZ)
	}
	return again
}

// While a required audit log cannot be written, calls of both eras are refused, over HTTP and on stdio, and no server gets one. Other
// requests are answered. When the log can be written again, calls are accepted. The call whose record was the first that could not
// be written then has its record, too.
func TestNoCallsWithoutRequiredLog(t *testing.T) {
	for _, sync := range []string{audit.SyncNever, audit.SyncEach} {
		t.Run(sync, func(t *testing.T) { testRequiredLog(t, sync) })
	}
}

func testRequiredLog(t *testing.T, sync string) {
	path, set := withAuditLog(t, func(a *config.Audit) { a.Required, a.Sync = true, sync })
	server := &actortest.Server{Tools: []string{"add"}}
	t.Run("while it runs", func(t *testing.T) {
		w := startHTTP(t, map[string]*actortest.Server{"one": server}, set)
		session := w.open("/mcp")
		line := openStdioClient(t, w.gateway)
		call := `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"one_add","arguments":{}}}`
		id := 10
		calls := map[string]func() string{
			"a session": func() string {
				id++
				return w.do("POST", "/mcp", fmt.Sprintf(call, id), "Mcp-Session-Id", session).body
			},
			"a stateless session": func() string {
				_, answer := w.raw("/mcp", modern(3, "tools/call", "{}", callModern), "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: one_add")
				return answer
			},
			"stdio": func() string {
				id++
				return line(fmt.Sprintf(call, id))
			},
		}
		all := func(when, want string) {
			t.Helper()
			for who, ask := range calls {
				if got := ask(); !strings.Contains(got, want) {
					t.Errorf("%s, %s: %s", when, who, got)
				}
			}
		}
		all("before", `"text"`)
		w.eventually("all records are written", func() bool { return w.gateway.Audit().State().Sequence >= 5 })
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		again := limitFileSize(t, info.Size())
		first := make(chan string, 1)
		go func() { // its record is the first that cannot be written
			first <- w.do("POST", "/mcp", fmt.Sprintf(call, 9), "Mcp-Session-Id", session).body
		}()
		w.eventually("calls are refused", func() bool { return w.gateway.Audit().Flags().Has(audit.Refusing) })
		served := len(server.Received("tools/call"))
		all("while the log cannot be written", "OVERLOADED")
		if list := w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Mcp-Session-Id", session).body; !strings.Contains(list, "one_add") {
			t.Errorf("a list was refused: %s", list)
		}
		if n := len(server.Received("tools/call")); n != served {
			t.Errorf("the server got %d calls, want none", n-served)
		}
		again()
		w.eventually("calls are accepted again", func() bool { return !w.gateway.Audit().Flags().Has(audit.Refusing) })
		if got := <-first; !strings.Contains(got, `"text"`) {
			t.Errorf("the call whose record could not be written: %s", got)
		}
		all("after", `"text"`)
	})
	if got := strings.Count(strings.Join(auditEvents(auditLines(t, path)), "\n"), "call local tools/call one add allow ok"); got != 7 {
		t.Errorf("the log has %d calls, want 7", got)
	}
}

// openStdioClient opens the client on stdio. It returns a function that sends a request and returns the response.
func openStdioClient(t *testing.T, g *Gateway) func(string) string {
	t.Helper()
	front, err := g.Stdio(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	in, write := io.Pipe()
	read, out := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = downstream.ServeStdio(t.Context(), in, out, front, downstream.Options{MaxMessageBytes: 1 << 20}, slog.New(slog.DiscardHandler))
	}()
	t.Cleanup(func() { write.Close(); read.Close(); <-ended })
	answers := bufio.NewScanner(read)
	line := func(text string) string {
		if _, err := io.WriteString(write, text+"\n"); err != nil {
			t.Fatal(err)
		}
		for answers.Scan() {
			if !strings.Contains(answers.Text(), `"method"`) {
				return answers.Text()
			}
		}
		t.Fatal("stdout ended")
		return ""
	}
	line(initializeFrame)
	_, _ = io.WriteString(write, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return line
}
