package logins

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/authtest"
	"goblin-actor/internal/gatetest"
)

var binary string // path of the gateway

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "gl")
	if err != nil {
		panic(err)
	}
	if binary, err = gatetest.Build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// tools is an MCP server of 2025-11-25 with two tools: echo, and slow, which sends a notification, waits for release and answers.
type tools struct {
	begun   chan struct{}
	release chan struct{}
}

func (s *tools) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name string }
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	result := `{}`
	switch m.Method {
	case "server/discover":
		http.Error(w, "no", http.StatusNotFound)
		return
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"echo","inputSchema":{"type":"object"}},{"name":"slow","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		result = `{"content":[{"type":"text","text":"done"}]}`
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	if m.Params.Name != "slow" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"begun\"}}\n\n")
	w.(http.Flusher).Flush()
	s.begun <- struct{}{}
	<-s.release
	fmt.Fprintf(w, "data: %s\n\n", answer)
}

// world is a gateway with a protected server.
type world struct {
	t      *testing.T
	dir    string
	issuer *authtest.Issuer
	server *authtest.Server
	tools  *tools
	config string
	gate   *gatetest.Process
	id     int
	key    string // API key of the client; "" = none
}

func newWorld(t *testing.T, f authtest.Faults, auth string) *world {
	t.Helper()
	w := &world{t: t, dir: gatetest.ShortDir(t), tools: &tools{begun: make(chan struct{}, 1), release: make(chan struct{})}}
	w.issuer = authtest.New(t, f)
	w.server = w.issuer.Protect(t, w.tools)
	w.config = filepath.Join(w.dir, "goblin.yaml")
	text := fmt.Sprintf("metaTools: false\nmcpServers:\n  safe: {url: %q, auth: {%s}}\n", w.server.URL, auth)
	if err := os.WriteFile(w.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// serve starts the gateway.
func (w *world) serve() {
	w.t.Helper()
	cmd := exec.Command(binary, "serve", "--config", w.config, "--listen", "127.0.0.1:0", "--state-dir", w.dir)
	cmd.Env = gatetest.Environment(w.dir)
	w.gate = gatetest.Serve(w.t, cmd)
}

// call calls a tool as a client without a session, and returns the answer.
func (w *world) call(tool string) string {
	w.t.Helper()
	w.id++
	return w.post("tools/call", tool, fmt.Sprintf(`"name":%q,`, tool))
}

func (w *world) post(method, name, params string) string {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, w.id, method, params)
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.gate.URL, strings.NewReader(body))
	if err != nil {
		w.t.Error(err)
		return ""
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method}}
	if name != "" {
		r.Header.Set("Mcp-Name", name)
	}
	if w.key != "" {
		r.Header.Set("Authorization", "Bearer "+w.key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Error(err)
	}
	return string(text)
}

var loginURL = regexp.MustCompile(`"loginUrl":"([^"]+)"`)

// loginURL returns the login URL in a refused call's error.
func (w *world) loginURL(answer string) string {
	w.t.Helper()
	m := loginURL.FindStringSubmatch(answer)
	if m == nil || !strings.Contains(answer, `"code":-31008`) {
		w.t.Fatalf("got %s, want NEEDS_LOGIN with a loginUrl", answer)
	}
	return m[1]
}

var formToken = regexp.MustCompile(`name=token value="([^"]+)"`)

// logIn completes a login like a browser whose user approves it, and returns the last page.
func (w *world) logIn(address string) string {
	w.t.Helper()
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{Jar: jar, Timeout: time.Minute}
	read := func(resp *http.Response, err error) string {
		w.t.Helper()
		if err != nil {
			w.t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			w.t.Fatal(err)
		}
		return string(text)
	}
	page := read(browser.Get(address))
	m := formToken.FindStringSubmatch(page)
	if m == nil {
		w.t.Fatalf("no button on %s", page)
	}
	return read(browser.PostForm(address, url.Values{"token": {m[1]}}))
}

// run runs a goblin-actor command with the given stdin.
func (w *world) run(stdin string, args ...string) (out string, err error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = gatetest.Environment(w.dir)
	cmd.Stdin = strings.NewReader(stdin)
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// port returns the gateway's port.
func (w *world) port() string {
	u, err := url.Parse(w.gate.URL)
	if err != nil {
		w.t.Fatal(err)
	}
	return u.Port()
}

// state waits until the server has the given state.
func (w *world) state(want string) {
	w.t.Helper()
	gatetest.WaitFor(w.t, "server "+want, func() (bool, string) {
		s, err := gatetest.Snapshot(w.t.Context(), w.dir)
		if err != nil || len(s.Servers) != 1 {
			return false, fmt.Sprint(err)
		}
		return s.Servers[0].State == want, s.Servers[0].State + ": " + s.Servers[0].Reason
	})
}

func contains(t *testing.T, what, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %s in it", what, text, want)
		}
	}
}

// paste runs `login … --no-browser`, opens its URL like a browser, and pastes the redirect URL.
func (w *world) paste(env []string, args ...string) (out string, err error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, append([]string{"login", "safe", "--no-browser"}, args...)...)
	cmd.Env = append(gatetest.Environment(w.dir), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	var text gatetest.Output
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	cmd.Stderr = &text
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		fmt.Fprintln(&text, lines.Text())
		if strings.HasPrefix(lines.Text(), "http") {
			fmt.Fprintln(in, "http://127.0.0.1:1/callback?"+w.issuer.Approve(w.t, lines.Text()).Encode())
		}
	}
	err = cmd.Wait()
	return text.String(), err
}

var keyIn = regexp.MustCompile(`gba_[\w-]+`)

// append appends lines to the configuration.
func (w *world) append(lines string) {
	w.t.Helper()
	f, err := os.OpenFile(w.config, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := f.WriteString(lines); err != nil {
		w.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// browser puts a program on the PATH that acts as a browser: it opens its argument and follows redirects.
func (w *world) browser() {
	w.t.Helper()
	if runtime.GOOS != "linux" {
		w.t.Skip("SKIPPED: this test replaces xdg-open, which only Linux uses")
	}
	curl, err := exec.LookPath("curl")
	if err != nil {
		w.t.Skip("SKIPPED: curl, which acts as the browser, is not installed")
	}
	dir := w.t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nexec %s -sL -o /dev/null \"$1\"\n", curl)
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o755); err != nil {
		w.t.Fatal(err)
	}
	w.t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}
