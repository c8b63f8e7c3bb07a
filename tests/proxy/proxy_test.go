//go:build linux

package proxy

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"goblin-actor/internal/gatetest"
)

const gatewayConfig = `
listen: 127.0.0.1:0
metaTools: false
auth: {keys: keys.yaml}
trustedProxies: [127.0.0.1]
policy:
  roles:
    tells: {tools: {allow: ["clock_now"]}}
    shifts: {tools: {deny: ["clock_now"]}}
mcpServers:
  clock: {command: %q, args: [demo, clock]}
`

// place is a directory with a gateway, a reverse proxy in front of it, and between them a relay that counts connections.
type place struct {
	t           *testing.T
	dir, binary string
	url         string // of the reverse proxy
	connections atomic.Int64
}

func newPlace(t *testing.T, config string) *place {
	p := &place{t: t, dir: gatetest.ShortDir(t)}
	var err error
	if p.binary, err = gatetest.Build(p.dir); err != nil {
		t.Fatal(err)
	}
	p.write("goblin.yaml", fmt.Sprintf(config, p.binary))
	serve := exec.Command(p.binary, "serve", "--config", filepath.Join(p.dir, "goblin.yaml"))
	serve.Env = gatetest.Environment(p.dir)
	gateway := gatetest.Serve(t, serve)
	port := gatetest.FreePort(t)
	front := p.front(port, p.relay(strings.TrimPrefix(gateway.Base, "http://")))
	front.Stderr = os.Stderr
	if err := front.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = front.Process.Signal(os.Interrupt)
		_ = front.Wait()
	})
	p.url = "http://127.0.0.1:" + port
	gatetest.WaitFor(t, "the proxy", func() (bool, string) {
		r, err := http.Get(p.url + "/readyz")
		if err != nil {
			return false, err.Error()
		}
		defer r.Body.Close()
		return r.StatusCode == 200, r.Status
	})
	return p
}

func (p *place) write(name, text string) {
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// relay starts a relay that forwards connections to the address to and counts them.
func (p *place) relay(to string) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			p.connections.Add(1)
			go func() {
				defer from.Close()
				onto, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer onto.Close()
				go func() {
					_, _ = io.Copy(onto, from)
					_ = onto.(*net.TCPConn).CloseWrite()
				}()
				_, _ = io.Copy(from, onto)
			}()
		}
	}()
	return l.Addr().String()
}

func (p *place) run(args ...string) string {
	p.t.Helper()
	cmd := exec.Command(p.binary, args...)
	cmd.Dir, cmd.Env = p.dir, gatetest.Environment(p.dir)
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("goblin-actor %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// user is a client with a key and optionally a session.
type user struct {
	name, key, session string
	at                 *place
}

// post sends a message through the proxy.
func (u *user) post(message string) (*http.Response, string) {
	u.at.t.Helper()
	r, err := http.NewRequest("POST", u.at.url+"/mcp", strings.NewReader(message))
	if err != nil {
		u.at.t.Fatal(err)
	}
	u.dress(r)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		u.at.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		u.at.t.Fatal(err)
	}
	return answer, string(body)
}

func (u *user) dress(r *http.Request) {
	if u.key != "" {
		r.Header.Set("Authorization", "Bearer "+u.key)
	}
	if u.session != "" {
		r.Header.Set("Mcp-Session-Id", u.session)
	}
}

func (u *user) initialize() {
	u.at.t.Helper()
	r, body := u.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	if u.session = r.Header.Get("Mcp-Session-Id"); r.StatusCode != 200 || u.session == "" {
		u.at.t.Fatalf("initialize of %s: %s %s", u.name, r.Status, body)
	}
	u.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (u *user) tools() []string {
	u.at.t.Helper()
	_, body := u.post(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	var list struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		u.at.t.Fatalf("%s: %v: %s", u.name, err, body)
	}
	names := []string{}
	for _, tool := range list.Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// S5.1.7: Two users and a client without a key take turns on one connection between the proxy and the gateway. Each user sees only what
// its role permits. The client without a key is refused, and so is a user with the other user's session id.
func TestTwoUsersOnOneConnection(t *testing.T) {
	p := newPlace(t, gatewayConfig)
	alice := &user{name: "alice", key: p.run("key", "new", "alice", "--role", "tells"), at: p}
	bob := &user{name: "bob", key: p.run("key", "new", "bob", "--role", "shifts"), at: p}
	absent := &user{name: "absent", at: p}
	gatetest.WaitFor(t, "the keys", func() (bool, string) {
		r, body := bob.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		return r.StatusCode != 401, body
	})
	alice.initialize()
	bob.initialize()
	p.connections.Store(0)
	for turn := range 50 {
		if got := alice.tools(); !slices.Equal(got, []string{"clock_now"}) {
			t.Fatalf("turn %d: alice sees %v", turn, got)
		}
		if got := bob.tools(); len(got) == 0 || slices.Contains(got, "clock_now") {
			t.Fatalf("turn %d: bob sees %v", turn, got)
		}
		if r, _ := absent.post(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); r.StatusCode != 401 || r.Header.Get("WWW-Authenticate") == "" {
			t.Fatalf("turn %d: the client without a key got %s", turn, r.Status)
		}
		thief := &user{name: "bob with alice's session", key: bob.key, session: alice.session, at: p}
		if r, body := thief.post(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); r.StatusCode != 404 {
			t.Fatalf("turn %d: a stolen session gives %s %s", turn, r.Status, body)
		}
	}
	if n := p.connections.Load(); n > 20 {
		t.Errorf("the proxy made %d connections for 200 requests: users did not share one, so this test shows nothing", n)
	}
}

// A stream through the proxy ends when its key is revoked.
func TestRevokedBehindAProxy(t *testing.T) {
	p := newPlace(t, gatewayConfig)
	alice := &user{name: "alice", key: p.run("key", "new", "alice", "--role", "tells"), at: p}
	gatetest.WaitFor(t, "the key", func() (bool, string) {
		r, body := alice.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		return r.StatusCode != 401, body
	})
	alice.initialize()
	r, err := http.NewRequest("GET", p.url+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	alice.dress(r)
	r.Header.Set("Accept", "text/event-stream")
	stream, err := http.DefaultClient.Do(r)
	if err != nil || stream.StatusCode != 200 {
		t.Fatalf("open a stream: %v %v", stream, err)
	}
	defer stream.Body.Close()
	events := bufio.NewReader(stream.Body)
	if _, err := events.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	p.run("key", "revoke", "alice")
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, events)
		ended <- err
	}()
	select {
	case <-ended:
	case <-time.After(gatetest.Patience):
		t.Fatal("the stream did not end")
	}
	if r, body := alice.post(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); r.StatusCode != 401 {
		t.Errorf("request after the revocation: got %s %s", r.Status, body)
	}
}

// Without auth the gateway refuses requests from a proxy: every client that reaches the proxy could use it.
func TestOpenGatewayBehindAProxy(t *testing.T) {
	p := newPlace(t, "listen: 127.0.0.1:0\nmcpServers:\n  clock: {command: %q, args: [demo, clock]}\n")
	r, body := (&user{at: p}).post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if r.StatusCode != 403 || !strings.Contains(body, "trustedProxies: [127.0.0.1]") || !strings.Contains(body, "auth: {keys: keys.yaml}") {
		t.Errorf("got %s %s, want 403 with the settings to add", r.Status, body)
	}
}
