//go:build unix

package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/authtest"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
	"goblin-actor/protocol/coding"
)

// failure is a server that fails, and the beginning of the cause that doctor must report. If cause is empty, the server
// must be healthy.
type failure struct{ name, entry, cause string }

// Doctor explains the failures of real servers. Every alternative of a pattern for texts of this program or of Go's
// library matches at least one real text, so the test fails if a package rewords such a text.
func TestKnowledgeMatchesRealErrors(t *testing.T) {
	failures := append(remoteFailures(t), processFailures(t)...)
	var file strings.Builder
	file.WriteString("mcpServers:\n")
	for _, f := range failures {
		fmt.Fprintf(&file, "  %s: {%s}\n", f.name, f.entry)
	}
	path := filepath.Join(t.TempDir(), "goblin.yaml")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, report := config.Salvage(path)
	if cfg == nil || len(report.Faults) > 0 {
		t.Fatalf("configuration: %v", report.Faults)
	}
	var printed bytes.Buffer
	d := newDiagnosis(&printed, path, output.Table, cfg, report)
	d.wait = terminal.NewWaitLine(io.Discard)
	if err := d.examine(context.Background(), nil, time.Minute); err != nil {
		t.Fatal(err)
	}
	seen := libraryErrors(t)
	for _, f := range failures {
		doc := d.servers[f.name]
		if !strings.HasPrefix(doc.Cause, f.cause) || f.cause == "" && !doc.OK {
			t.Errorf("server %s: %q is explained by %q, want %q", f.name, doc.Symptom, doc.Cause, f.cause)
		}
		seen = append(seen, doc.Symptom)
	}
	if want := "its tools could not be listed: "; !strings.Contains(printed.String(), want+`"no database" (-32603); the gateway retries`) {
		t.Errorf("the report of a server without tools has no line with %q:\n%s", want, printed.String())
	} else {
		seen = append(seen, want)
	}
	if strings.Contains(d.servers["path"].Symptom, "(") {
		t.Errorf("the symptom contains the search path: %q", d.servers["path"].Symptom)
	}

	for _, r := range knowledge {
		if !r.foreign {
			checkAlternatives(t, r.pattern(), seen)
		}
	}
	checkAlternatives(t, notReached(), seen)
}

// checkAlternatives reports the alternatives of a pattern that match none of the texts.
func checkAlternatives(t *testing.T, pattern *regexp.Regexp, texts []string) {
	t.Helper()
	for _, alternative := range alternatives(strings.TrimPrefix(pattern.String(), "(?i)")) {
		re := regexp.MustCompile("(?i)" + alternative)
		matched := false
		for _, text := range texts {
			matched = matched || re.MatchString(text)
		}
		if !matched {
			t.Errorf("no server fails with an error that matches %q, an alternative of %q: was the error reworded?", alternative, pattern)
		}
	}
}

// alternatives splits a pattern at each | outside of groups.
func alternatives(pattern string) []string {
	var list []string
	depth, start := 0, 0
	for i, c := range pattern {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case '|':
			if depth == 0 {
				list, start = append(list, pattern[start:i]), i+1
			}
		}
	}
	return append(list, pattern[start:])
}

// libraryErrors returns error texts that the failing servers of this test do not provoke, and the texts of slow starts.
func libraryErrors(t *testing.T) []string {
	t.Helper()
	site := httptest.NewServer(http.NotFoundHandler())
	defer site.Close()
	_, err := http.Get("https://" + site.Listener.Addr().String()) //nolint:bodyclose,noctx // the request fails
	if err == nil {
		t.Fatal("a server without TLS answered over HTTPS")
	}
	texts := []string{
		err.Error(), coding.ErrExpands.Error(), os.ErrDeadlineExceeded.Error(), syscall.ENETUNREACH.Error(), syscall.EHOSTUNREACH.Error(), "",
		(&net.DNSError{Err: "no such host", Name: "mcp.example", IsNotFound: true}).Error(), // written out, because the resolver of the test's machine may return another error
	}
	for _, phase := range []message.Phase{message.Connecting, message.Handshaking, message.Syncing} {
		texts = append(texts, message.Awaited(phase))
	}
	return texts
}

// While a server is starting again, its last failure is explained.
func TestReportShowsPreviousFailure(t *testing.T) {
	cfg := &config.Config{Servers: []config.Server{{Name: "files", Command: "sh"}}}
	for _, phase := range []message.Phase{message.Connecting, message.Handshaking, message.Syncing} {
		d := newDiagnosis(io.Discard, "goblin.yaml", output.JSON, cfg, config.Report{})
		reason, _ := message.Starting(phase, time.Minute, "process exited with code 3")
		d.add(status.Server{Name: "files", State: string(phase), Reason: reason}, status.Backend{})
		if doc := d.servers["files"]; doc.State != "waiting" || doc.Symptom != "process exited with code 3" {
			t.Errorf("while %s: state %q, symptom %q", phase, doc.State, doc.Symptom)
		}
	}
}

// site serves MCP endpoints that fail, each at a separate path.
type site struct{ mux *http.ServeMux }

// answer serves a response at path. If body is not empty, requests other than POST get status 405, as from a server
// without event streams.
func (s site) answer(path string, status int, body string, header ...string) {
	s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		if body != "" && r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// methods answers each request at path with the member "result" or "error" that answers has for its method, or else for
// "". For the answer "hang", it sends no response.
func (s site) methods(path string, answers map[string]string) {
	s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.NewDecoder(r.Body).Decode(&m) != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		answer, ok := answers[m.Method]
		if !ok {
			answer = answers[""]
		}
		if answer == "hang" {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer)
	})
}

// remoteFailures starts servers that fail over HTTP.
func remoteFailures(t *testing.T) []failure {
	t.Helper()
	s := site{http.NewServeMux()}
	s.answer("/301", 301, "", "Location", "https://mcp.example.com/mcp")
	s.answer("/basic", 401, "", "WWW-Authenticate", `Basic realm="x"`)
	for _, status := range []int{302, 401, 403, 404, 405, 429, 502} {
		s.answer(fmt.Sprintf("/%d", status), status, "")
	}
	s.answer("/br", 200, "x", "Content-Type", "application/json", "Content-Encoding", "br")
	s.answer("/gzip", 200, "these bytes are not gzip data", "Content-Type", "application/json", "Content-Encoding", "gzip")
	s.answer("/html", 200, "<!doctype html><title>Welcome</title>", "Content-Type", "text/html")
	s.answer("/text", 200, "hello", "Content-Type", "application/json")
	s.answer("/json", 200, `{"hello":1}`, "Content-Type", "application/json")
	s.answer("/empty", 202, "")
	s.mux.HandleFunc("/sse", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	unknown := `"error":{"code":-32601,"message":"unknown method"}`
	hello := `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":"x","version":"1"}}`
	s.methods("/refuses", map[string]string{"": unknown})
	s.methods("/version", map[string]string{"": unknown, "initialize": strings.Replace(hello, "2025-06-18", "2099-01-01", 1)})
	s.methods("/silent", map[string]string{"": "hang"})
	s.methods("/unlisted", map[string]string{"": `"error":{"code":-32603,"message":"no database"}`, "initialize": hello, "server/discover": unknown})
	s.methods("/slow-lists", map[string]string{"": unknown, "initialize": hello, "tools/list": "hang", "prompts/list": "hang"})
	s.methods("/no-tools", map[string]string{"": unknown, "initialize": hello, "tools/list": `"error":{"code":-32603,"message":"no database"}`,
		"prompts/list": `"result":{"prompts":[{"name":"one"}]}`})
	plain := httptest.NewServer(s.mux)
	t.Cleanup(plain.Close)
	secure := httptest.NewUnstartedServer(s.mux)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // suppresses the error about the rejected certificate
	secure.StartTLS()
	t.Cleanup(secure.Close)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = free.Close()
	issuer := authtest.New(t, authtest.Faults{TokenError: "invalid_client", TokenStatus: 401})

	at := func(path string) string { return "url: " + plain.URL + path }
	const noEndpoint, noServer, noHTTP = "there is no MCP endpoint", "the peer at this URL is not an MCP server", "the peer on this port does not speak the protocol of the URL"
	return []failure{
		{"moved", at("/301"), "the server has moved to https://mcp.example.com/mcp"},
		{"redirect", at("/302"), "the server redirects"},
		{"basic", at("/basic"), "the server asks for Basic authentication"},
		{"login", at("/401"), "the server needs a login"},
		{"header", at("/401") + ", headers: {Authorization: Bearer x}", "the server requires authentication"},
		{"forbidden", at("/403"), "the server refuses this client"},
		{"missing", at("/404"), noEndpoint},
		{"method", at("/405"), noEndpoint},
		{"limited", at("/429"), "the server's rate limit"},
		{"broken", at("/502"), "the server, or a proxy in front of it, has failed"},
		{"br", at("/br"), "the server, or a proxy in front of it, uses the encoding br"},
		{"gzip", at("/gzip"), "the server, or a proxy in front of it, sends invalid compressed data"},
		{"html", at("/html"), noEndpoint},
		{"stream", "type: sse, " + at("/sse"), noEndpoint},
		{"text", at("/text"), noServer},
		{"json", at("/json"), noServer},
		{"empty", at("/empty"), noServer},
		{"refuses", at("/refuses"), noServer},
		{"version", at("/version"), "the server and the gateway have no protocol version in common"},
		{"unlisted", at("/unlisted"), "the server runs, but a request for one of its lists failed"},
		{"no-tools", at("/no-tools"), ""},
		{"slow-lists", "timeout: 200ms, " + at("/slow-lists"), "the server runs, but a request for one of its lists failed"},
		{"silent", "startTimeout: 200ms, " + at("/silent"), "the server does not answer the gateway's requests"},
		{"no-tls", "url: https://" + plain.Listener.Addr().String(), "the server speaks HTTP on this port, not HTTPS"},
		{"certificate", "url: " + secure.URL, "the server's certificate is not trusted"},
		{"mail", "url: http://" + peer(t, "220 mail.example ESMTP\r\n"), noHTTP},
		{"hangs-up", "url: http://" + peer(t, ""), noHTTP},
		{"resets", "url: http://" + peer(t, "reset"), noHTTP},
		{"free", "url: http://" + free.Addr().String(), "no server listens on this port"},
		{"robot", at("/401") + ", auth: {type: client, clientId: a, clientSecret: b, issuer: " + issuer.URL + "}", "the authorization server rejects the gateway's"},
	}
}

// peer listens on TCP. It answers each request with text and closes the connection; with the text "reset", it resets
// the connection.
func peer(t *testing.T, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				_, _ = c.Read(make([]byte, 64<<10)) // reads everything, because unread bytes would turn the close into a reset
				if text == "reset" {
					_ = c.(*net.TCPConn).SetLinger(0)
					return
				}
				_, _ = io.WriteString(c, text)
			}()
		}
	}()
	return l.Addr().String()
}

// processFailures returns programs that fail.
func processFailures(t *testing.T) []failure {
	t.Helper()
	dir := t.TempDir()
	program := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return "command: " + path
	}
	shell := func(script string) string { return "command: sh, args: [-c, '" + script + "']" }
	return []failure{
		{"cwd", "command: sh, cwd: " + filepath.Join(dir, "none"), "the working directory does not exist or is not a directory"},
		{"mode", program("mode", "x", 0o600), "the program is not executable"},
		{"interpreter", program("interpreter", "#!"+filepath.Join(dir, "mode")+"\n", 0o700), "the program is not executable"},
		{"format", program("format", "\x00\x01\x02", 0o700), "the file is not a program for this system"},
		{"folder", "command: " + dir, "the program "},
		{"file", "command: ./none", "the program ./none does not exist"},
		{"path", "command: no-such-program-anywhere", "the program no-such-program-anywhere is not on PATH"},
		{"ok", shell("exit 0"), "the program ended without an error"},
		{"three", shell("exit 3"), "the program ended"},
		{"signal", shell("kill -9 $$$$"), "the program ended"},
		{"stdout", shell("exec >&-; exec sleep 20"), "the program ended"},
		{"mute", "startTimeout: 200ms, " + shell("exec sleep 20"), "the program runs but does not answer"},
		{"noise", "startTimeout: 500ms, " + shell("echo hello; exec sleep 20"), "the program writes its log to stdout"},
		{"no-mcp", program("no-mcp", "#!/bin/sh\n"+`while read -r line; do
	id=${line#*\"id\":}
	echo "{\"jsonrpc\":\"2.0\",\"id\":${id%%[,\}]*},\"error\":{\"code\":-32601,\"message\":\"unknown method\"}}"
done`, 0o700), "the program is not an MCP server on stdio"},
	}
}
