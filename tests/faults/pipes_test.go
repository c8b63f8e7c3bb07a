//go:build linux

package faults

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/internal/gatetest"
)

// progressing is an HTTP server whose calls report progress until they are canceled.
type progressing struct {
	mu    sync.Mutex
	told  []string                   // "cancelled" and "deleted", in order
	calls map[string]chan<- struct{} // by the id of the request
}

func (p *progressing) tell(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, what)
}

func (p *progressing) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.told, ", ")
}

func (p *progressing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		ID     json.RawMessage
		Method string
		Params struct {
			RequestID json.RawMessage
			Meta      struct{ ProgressToken json.RawMessage } `json:"_meta"`
		}
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &q)
	result := func(result string) { fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, result) }
	switch {
	case r.Method == http.MethodDelete:
		p.tell("deleted")
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case q.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", "s1")
		result(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`)
	case q.Method == "tools/list":
		result(`{"tools":[` + oneTool + `]}`)
	case q.Method == "notifications/cancelled":
		p.mu.Lock()
		if over := p.calls[string(q.Params.RequestID)]; over != nil {
			close(over)
			delete(p.calls, string(q.Params.RequestID))
			p.told = append(p.told, "cancelled")
		}
		p.mu.Unlock()
		w.WriteHeader(http.StatusAccepted)
	case q.Method == "tools/call":
		over := make(chan struct{})
		p.mu.Lock()
		p.calls[string(q.ID)] = over
		p.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		for n := 1; ; n++ {
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":%d}}\n\n", q.Params.Meta.ProgressToken, n)
			w.(http.Flusher).Flush()
			select {
			case <-over:
				return
			case <-r.Context().Done():
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	case q.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, q.ID)
	}
}

// A client on stdio is killed while its call reports progress, so that the pipes have no reader. The call is canceled at its server,
// the sessions are ended, and the program exits by itself rather than by SIGPIPE.
func TestStdioClientKilledDuringProgress(t *testing.T) {
	t.Parallel()
	for _, connected := range []bool{false, true} {
		t.Run(fmt.Sprintf("connect=%v", connected), func(t *testing.T) {
			upstream := &progressing{calls: map[string]chan<- struct{}{}}
			web := httptest.NewServer(upstream)
			defer func() {
				web.CloseClientConnections()
				web.Close()
			}()
			s := servers(map[string]any{"one": map[string]any{"url": web.URL, "type": "http"}})
			dir := t.TempDir()
			args := []string{"stdio", "--config", filepath.Join(dir, "goblin.yaml")}
			s.write(t, args[2])
			var g *gateway
			if connected {
				g = serve(t, s)
				g.ready(t, "one")
				args = []string{"stdio", "--connect", g.host}
			}
			cmd := exec.Command(binary, args...)
			cmd.Env = environment(dir)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			log, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Process.Kill()
			go func() { _, _ = io.Copy(io.Discard, log) }()
			lines := bufio.NewScanner(out)
			until := func(part string) {
				for lines.Scan() {
					if strings.Contains(lines.Text(), part) {
						return
					}
				}
				t.Fatalf("it exited before it printed %q", part)
			}
			fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
			until(`"id":1`)
			fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			fmt.Fprintln(in, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_echo","arguments":{},"_meta":{"progressToken":"t"}}}`)
			until("notifications/progress")
			_ = out.Close()
			_ = log.Close()
			_ = in.Close()
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			select {
			case <-ended:
			case <-time.After(gatetest.Patience):
				t.Fatal("the program still runs although its client was killed")
			}
			if !cmd.ProcessState.Exited() {
				t.Errorf("the program exited with %v", cmd.ProcessState)
			}
			deleted := 2 // including the session of the catalog
			if connected {
				deleted = 0 // the gateway continues
			}
			waitFor(t, "the server to receive the cancellation", func() (bool, string) {
				said := upstream.said()
				return strings.Count(said, "cancelled") == 1 && strings.Count(said, "deleted") == deleted, said
			})
			if connected {
				waitFor(t, "the session to be gone", func() (bool, string) {
					n := len(g.snapshot(t).Sessions)
					return n == 0, fmt.Sprint(n, " sessions")
				})
			}
		})
	}
}
