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

// noFileMayGrow has each write fail that would make a file larger than that, as on a full disk, until the returned function is called.
func noFileMayGrow(t *testing.T, beyond int64) (again func()) {
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

// While a required log cannot be written no call begins, of either era and on stdin neither, and no server hears of one. Everything else is
// answered; when it can be written again, calls are, and what ran meanwhile is in the log. Under sync each it is answered only then.
func TestNoCallGoesWithoutARequiredLog(t *testing.T) {
	for _, sync := range []string{audit.SyncNever, audit.SyncEach} {
		t.Run(sync, func(t *testing.T) { noCallGoes(t, sync) })
	}
}

func noCallGoes(t *testing.T, sync string) {
	path, set := audited(t, func(a *config.Audit) { a.Required, a.Sync = true, sync })
	server := &actortest.Server{Tools: []string{"add"}}
	t.Run("while it runs", func(t *testing.T) {
		w := serveWeb(t, map[string]*actortest.Server{"one": server}, set)
		session := w.open("/mcp")
		line := stdinOf(t, w.gateway)
		call := `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"one_add","arguments":{}}}`
		id := 10
		calls := map[string]func() string{
			"a session": func() string {
				id++
				return w.do("POST", "/mcp", fmt.Sprintf(call, id), "Mcp-Session-Id", session).body
			},
			"a desk": func() string {
				_, answer := w.raw("/mcp", modern(3, "tools/call", "{}", callModern), "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: one_add")
				return answer
			},
			"stdin": func() string {
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
		w.eventually("all is written", func() bool { return w.gateway.Audit().State().Sequence >= 5 })
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		again := noFileMayGrow(t, info.Size())
		first := make(chan string, 1)
		go func() { // its record is the first that finds no room
			first <- w.do("POST", "/mcp", fmt.Sprintf(call, 9), "Mcp-Session-Id", session).body
		}()
		w.eventually("it refuses", func() bool { return w.gateway.Audit().Flags().Has(audit.Refusing) })
		served := len(server.Received("tools/call"))
		all("while it cannot be written", "OVERLOADED")
		if list := w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Mcp-Session-Id", session).body; !strings.Contains(list, "one_add") {
			t.Errorf("a list is refused, too: %s", list)
		}
		if n := len(server.Received("tools/call")); n != served {
			t.Errorf("the server has heard of %d calls", n-served)
		}
		again()
		w.eventually("it works again", func() bool { return !w.gateway.Audit().Flags().Has(audit.Refusing) })
		if got := <-first; !strings.Contains(got, `"text"`) {
			t.Errorf("the one that ran meanwhile: %s", got)
		}
		all("after", `"text"`)
	})
	if got := strings.Count(strings.Join(told(auditLines(t, path)), "\n"), "call local tools/call one add allow ok"); got != 7 {
		t.Errorf("the log has %d calls of 7", got)
	}
}

// stdinOf opens the client on stdin, and returns what sends a line and reads the answer.
func stdinOf(t *testing.T, g *Gateway) func(string) string {
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
		t.Fatal("stdout has ended")
		return ""
	}
	line(initializeFrame)
	_, _ = io.WriteString(write, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return line
}
