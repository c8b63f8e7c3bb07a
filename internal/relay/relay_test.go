package relay

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/internal/cluster"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/stream"
)

// handlerFunc is a downstream.Handler made of functions. A nil function accepts.
type handlerFunc struct {
	post   func(*downstream.Exchange)
	open   func(*downstream.EventStream)
	delete func(*downstream.Exchange)
}

func (f handlerFunc) Post(x *downstream.Exchange) {
	if f.post == nil {
		x.Accept()
		return
	}
	f.post(x)
}

func (f handlerFunc) Open(s *downstream.EventStream) {
	if f.open == nil {
		s.Accept()
		return
	}
	f.open(s)
}

func (f handlerFunc) Delete(x *downstream.Exchange) {
	if f.delete == nil {
		x.Accept()
		return
	}
	f.delete(x)
}

// holders are the keys of a node, by holder.
type holders map[string]*identity.Principal

var refusedHolder = &downstream.Refusal{Status: 401, Challenge: downstream.InvalidToken, Fault: refusedHeaders.Fault}

func (h holders) Holder(holder string) (*identity.Principal, *downstream.Refusal) {
	if who := h[holder]; who != nil {
		return who, nil
	}
	return nil, refusedHolder
}

// rig has two nodes. Clients connect to first, whose handler passes everything on to home.
type rig struct {
	t       *testing.T
	secrets *cluster.Secrets
	relay   *Relay
	home    *downstream.Server
	node    string // address of home's listener for nodes
	first   string // address of first's public listener
	direct  string // address of home's public listener

	mu     sync.Mutex
	target Target
	known  bool
}

const homeIncarnation = "abcdefg2"

func secretsOf(t testing.TB) *cluster.Secrets {
	t.Helper()
	s, err := cluster.NewSecrets([]string{cluster.NewSecret()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func tlsOf(t testing.TB, s *cluster.Secrets, node string) func() *tls.Config {
	t.Helper()
	c, err := s.TLS(node)
	if err != nil {
		t.Fatal(err)
	}
	return func() *tls.Config { return c }
}

// newRig starts a rig whose home has the handler. The function change modifies the options, and may be nil.
func newRig(t *testing.T, handler downstream.Handler, change func(home *downstream.Options, relay *Options)) *rig {
	t.Helper()
	w := &rig{t: t, secrets: secretsOf(t), known: true}
	log := slog.New(slog.DiscardHandler)
	public := downstream.Options{MaxMessageBytes: 1 << 20, Budget: stream.NewBudget(256 << 20)}
	o := Options{TLS: tlsOf(t, w.secrets, "first"), MaxMessageBytes: 64 << 20, Budget: stream.NewBudget(256 << 20), Log: log, Resolve: w.resolve}
	if change != nil {
		change(&public, &o)
	}
	w.home = NewServer(handler, ServerOptions{Node: "home", TLS: tlsOf(t, w.secrets, "home"), Keys: holders{"local": identity.Local}, MaxMessageBytes: public.MaxMessageBytes, Budget: public.Budget, Log: log})
	w.node = w.serve(w.home)
	w.target = Target{Node: "home", Address: w.node}
	w.direct = w.serve(downstream.NewServer(handler, public, log))
	w.relay = New(o)
	t.Cleanup(w.relay.Close)
	w.first = w.serve(downstream.NewServer(passingHandler{w.relay}, downstream.Options{MaxMessageBytes: 1 << 20, Budget: o.Budget}, log))
	return w
}

func (w *rig) resolve(incarnation string) (Target, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.target, w.known && incarnation == homeIncarnation
}

func (w *rig) serve(s *downstream.Server) (address string) {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.Shutdown(ctx)
		<-done
	})
	return l.Addr().String()
}

// passingHandler passes everything on to home.
type passingHandler struct{ relay *Relay }

func (h passingHandler) Post(x *downstream.Exchange) {
	h.relay.Post(homeIncarnation, x, cluster.Retry{})
}
func (h passingHandler) Open(s *downstream.EventStream) {
	h.relay.Open(homeIncarnation, s, cluster.Retry{})
}
func (h passingHandler) Delete(x *downstream.Exchange) {
	h.relay.Delete(homeIncarnation, x, cluster.Retry{})
}

// client is a connection that sends and receives raw bytes.
type client struct {
	net.Conn
	r *bufio.Reader
	t testing.TB
}

func dial(t testing.TB, address string) *client {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
	return &client{Conn: c, r: bufio.NewReaderSize(c, 64<<10), t: t}
}

func (c *client) send(text string) *client {
	c.t.Helper()
	if _, err := io.WriteString(c.Conn, text); err != nil {
		c.t.Fatalf("send: %v", err)
	}
	return c
}

// read reads a response: the bytes of its header, its body, and whether the body is complete.
func (c *client) read() (head, body string, whole bool) {
	c.t.Helper()
	for !strings.HasSuffix(head, "\r\n\r\n") {
		line, err := c.r.ReadString('\n')
		if err != nil {
			c.t.Fatalf("read response: %v", err)
		}
		head += line
	}
	r, err := http.ReadResponse(bufio.NewReader(strings.NewReader(head)), nil)
	if err != nil {
		c.t.Fatalf("%q: %v", head, err)
	}
	var from io.Reader = c.r
	switch {
	case r.ContentLength >= 0:
		from = io.LimitReader(c.r, r.ContentLength)
	case r.TransferEncoding != nil:
		from = httputil.NewChunkedReader(c.r)
	}
	b, err := io.ReadAll(from)
	if err == nil && r.TransferEncoding != nil {
		_, err = c.r.Discard(len("\r\n"))
	}
	return head, string(b), err == nil && len(b) >= int(r.ContentLength)
}

const accepts = "Accept: application/json, text/event-stream"

func post(body string, headers ...string) string {
	if len(headers) == 0 {
		headers = []string{accepts}
	}
	return fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%s\r\nContent-Length: %d\r\n\r\n%s",
		strings.Join(headers, "\r\n"), len(body), body)
}

const get = "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: s1\r\n\r\n"

func call(method string) string { return `{"jsonrpc":"2.0","id":1,"method":"` + method + `"}` }

func itoa(n int) string { return strconv.Itoa(n) }
