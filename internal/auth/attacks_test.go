package auth

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// principalEcho answers each message with its principal and client address.
type principalEcho struct{}

func (principalEcho) Post(x *downstream.Exchange) {
	id := identity.IDOf(x.Origin.Principal)
	x.Answer(protocol.Message{Frame: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"result":{"who":%q,"from":%q}}`, id, downstream.HostOf(x.Origin.Remote))})
}
func (principalEcho) Open(s *downstream.EventStream) { s.Accept() }
func (principalEcho) Delete(x *downstream.Exchange)  { x.Accept() }

// testServer is a testGate whose gate protects a real HTTP server.
type testServer struct {
	*testGate
	address string
}

func newTestServer(t *testing.T) *testServer {
	h := &testServer{testGate: newTestGate(t)}
	server := downstream.NewServer(principalEcho{}, downstream.Options{Admission: h.Gate}, slog.New(slog.DiscardHandler))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(l)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		server.Shutdown(ctx)
	})
	h.address = l.Addr().String()
	return h
}

// post sends a ping with the given query and header lines on a new connection. It returns the status, the challenge
// and the body.
func (h *testServer) post(query string, headers ...string) (int, string, string) {
	h.t.Helper()
	c, err := net.Dial("tcp", h.address)
	if err != nil {
		h.t.Fatal(err)
	}
	defer c.Close()
	return post(h.t, c, bufio.NewReader(c), query, headers...)
}

func post(t testing.TB, c net.Conn, r *bufio.Reader, query string, headers ...string) (int, string, string) {
	t.Helper()
	const body = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST /mcp%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json\r\nContent-Length: %d\r\n", query, len(body))
	for _, line := range headers {
		fmt.Fprintf(&b, "%s\r\n", line)
	}
	b.WriteString("\r\n" + body)
	c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := c.Write(b.Bytes()); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header.Get("WWW-Authenticate"), string(text)
}

// wants checks the response to a ping: an error status, or 200 and the id of its principal.
func (h *testServer) wants(what string, want string, query string, headers ...string) {
	h.t.Helper()
	status, challenge, body := h.post(query, headers...)
	got := fmt.Sprint(status)
	if status == 200 {
		_, after, _ := strings.Cut(body, `"who":"`)
		got, _, _ = strings.Cut(after, `"`)
	}
	if got != want {
		h.t.Errorf("%s: got %s (%d %s %s), want %s", what, got, status, challenge, body, want)
	}
}

// S5.1.2.
func TestAttack17TokenInQuery(t *testing.T) {
	h := newTestServer(t)
	key := h.issue(Key{Name: "a"})
	h.configure(Settings{})
	h.wants("token in the query", "400", "?access_token="+key)
	h.wants("token in query and header", "400", "?x=1&access_token="+key, "Authorization: Bearer "+key)
	h.wants("token in the query, percent-encoded", "400", "?access%5Ftoken="+key, "Authorization: Bearer "+key)
	h.wants("token in the header", "key:a", "?x=1", "Authorization: Bearer "+key)
}

// S5.1.2.
func TestAttack18TwoAuthorizations(t *testing.T) {
	h := newTestServer(t)
	a, b := h.issue(Key{Name: "a"}), h.issue(Key{Name: "b"})
	h.configure(Settings{})
	status, challenge, _ := h.post("", "Authorization: Bearer "+a, "AUTHORIZATION: Bearer "+b)
	if status != 400 || !strings.Contains(challenge, `error="invalid_request"`) {
		t.Errorf("two Authorization lines: got %d %s, want 400 with error=invalid_request", status, challenge)
	}
	h.wants("the same key in two lines", "400", "", "Authorization: Bearer "+a, "Authorization: Bearer "+a)
	h.wants("two keys in one line", "400", "", "Authorization: Bearer "+a+", Bearer "+b)
}

// S5.1.2.
func TestAttack19RevokedKey(t *testing.T) {
	h := newTestServer(t)
	key := h.issue(Key{Name: "a"})
	h.configure(Settings{})
	h.wants("before Revoke", "key:a", "", "Authorization: Bearer "+key)
	if err := Revoke(h.path, "a"); err != nil {
		t.Fatal(err)
	}
	if err := h.Reload(); err != nil {
		t.Fatal(err)
	}
	h.wants("after Revoke", "401", "", "Authorization: Bearer "+key)
	if got := h.reportedChanges(); !strings.HasSuffix(got, "-key:a") {
		t.Errorf("Changed was called with %q, want a removal of key:a", got)
	}
}

// S5.1.2.
func TestAttack20ExpiredKey(t *testing.T) {
	h := newTestServer(t)
	key := h.issue(Key{Name: "a", Expires: time.Now().Add(-time.Second)})
	h.configure(Settings{})
	status, challenge, _ := h.post("", "Authorization: Bearer "+key)
	if status != 401 || !strings.Contains(challenge, `error="invalid_token", error_description="expired"`) {
		t.Errorf("got %d %s, want 401 with error_description=expired", status, challenge)
	}
}

// S5.1.2.
func TestAttack21PrefixOfAKey(t *testing.T) {
	h := newTestServer(t)
	key := h.issue(Key{Name: "a"})
	h.configure(Settings{})
	for n := len(keyPrefix); n < len(key); n++ {
		if _, ok := sumOf([]byte(key[:n])); ok {
			t.Errorf("sumOf accepts a key that is truncated to %d characters", n)
		}
	}
	h.wants("key without checksum", "401", "", "Authorization: Bearer "+key[:secretLength])
	h.wants("key with a trailing character", "401", "", "Authorization: Bearer "+key+"A")
}

// S5.1.5.
func TestAttack25TunnelToAnOpenLoopback(t *testing.T) {
	h := newTestServer(t)
	for _, line := range []string{"X-Forwarded-For: 192.0.2.1", "x-forwarded-proto: https", "X-Forwarded-Host: a.example", "Forwarded: for=192.0.2.1", "X-Real-IP: 192.0.2.1", "Via: 1.1 tunnel"} {
		status, _, body := h.post("", line)
		if status != 403 || !strings.Contains(body, "auth: {keys: keys.yaml}") || !strings.Contains(body, "trustedProxies") {
			t.Errorf("%s: got %d %s, want 403 with the settings to add", line, status, body)
		}
	}
	h.wants("client on this machine", "local", "")
}
