package relay

import (
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/cluster"
	"goblin-actor/protocol/downstream"
)

// fakeHome starts a node that calls serve for each connection, and returns its address.
func (w *rig) fakeHome(serve func(c *tls.Conn)) (address string) {
	w.t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", tlsOf(w.t, w.secrets, "home")())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c.(*tls.Conn))
			}()
		}
	}()
	return l.Addr().String()
}

// readRequest reads a request up to the end of its body, which has no line breaks.
func readRequest(c net.Conn) string {
	var text []byte
	buffer := make([]byte, 64<<10)
	for !strings.Contains(string(text), "\r\n\r\n") {
		n, err := c.Read(buffer)
		if text = append(text, buffer[:n]...); err != nil {
			break
		}
	}
	return string(text)
}

func (w *rig) aim(target Target) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.target = target
}

// summary sends a request and describes the response: its status, the code of its error, and whether that is retryable.
func (w *rig) summary(request string) string {
	w.t.Helper()
	head, body, whole := dial(w.t, w.first).send(request).read()
	status := strings.Fields(head)[1]
	var codes []string
	for _, part := range strings.Split(body, `"data":{"code":"`)[1:] {
		code, rest, _ := strings.Cut(part, `"`)
		if codes = append(codes, code); strings.Contains(rest, `"retryable":true`) {
			codes[len(codes)-1] += "+"
		}
	}
	text := strings.TrimSpace(status + " " + strings.Join(codes, " "))
	if !whole {
		text += " broken"
	}
	return text
}

var kinds = []struct{ name, request string }{
	{"repeatable", post(call("tasks/list"))},
	{"call", post(call("tools/call"))},
	{"unknown method", post(call("x/y"))},
	{"notification", post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)},
	{"answer", post(`{"jsonrpc":"2.0","id":1,"result":{}}`)},
	{"batch", post(`[` + call("ping") + `,` + call("tools/call") + `,{"jsonrpc":"2.0","method":"x"}]`)},
	{"notifications", post(`[{"jsonrpc":"2.0","method":"x"}]`)},
	{"stream", get},
	{"call's stream", strings.Replace(get, "\r\n\r\n", "\r\nLast-Event-ID: "+homeIncarnation+"~"+hex.EncodeToString([]byte(`"id"`))+"~x-p1-1\r\n\r\n", 1)},
	{"end", "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: s\r\n\r\n"},
}

// What clients get if the other node cannot be reached, is gone, serves another incarnation, or dies meanwhile.
func TestFailures(t *testing.T) {
	w := newRig(t, handlerFunc{}, func(_ *downstream.Options, o *Options) { o.MaxMessageBytes = 1 << 20 })
	w.relay.limits = limits{head: 100 * time.Millisecond, body: 100 * time.Millisecond, silence: 100 * time.Millisecond}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	respond := func(response string) string {
		return w.fakeHome(func(c *tls.Conn) {
			readRequest(c)
			_, _ = io.WriteString(c, response)
		})
	}
	hangs := w.fakeHome(func(c *tls.Conn) { readRequest(c); readRequest(c) })
	unreached := []string{"200 SERVER_UNAVAILABLE+", "200 SERVER_UNAVAILABLE+", "200 SERVER_UNAVAILABLE+", "503 SERVER_UNAVAILABLE+", "503 SERVER_UNAVAILABLE+",
		"200 SERVER_UNAVAILABLE+ SERVER_UNAVAILABLE+", "503 SERVER_UNAVAILABLE+", "503 SERVER_UNAVAILABLE+", "503 SERVER_UNAVAILABLE+", "503 SERVER_UNAVAILABLE+"}
	lost := []string{"200 NODE_LOST+", "200 NODE_LOST", "200 NODE_LOST", "503 NODE_LOST+", "503 NODE_LOST", "200 NODE_LOST NODE_LOST", "503 NODE_LOST",
		"503 SERVER_UNAVAILABLE+", "503 SERVER_UNAVAILABLE+", "503 NODE_LOST"}
	for _, c := range []struct {
		name, address string
		known         bool
		want          []string
	}{
		{"gone", "", false, []string{"404 INVALID_REQUEST", "404 INVALID_REQUEST", "404 INVALID_REQUEST", "404 INVALID_REQUEST", "410 NODE_LOST", "404 INVALID_REQUEST", "404 INVALID_REQUEST", "404", "200 NODE_LOST", "404 INVALID_REQUEST"}},
		{"refuses connections", closed.Addr().String(), true, unreached},
		{"serves another incarnation", respond("HTTP/1.1 421 Misdirected Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"), true, unreached},
		{"dies", respond(""), true, lost},
		{"dies within the header", respond("HTTP/1.1 200 OK\r\nContent-Le"), true, lost},
		{"dies within the body", respond("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"), true, lost},
		{"sends no HTTP", respond("SSH-2.0-x\r\n\r\n"), true, lost},
		{"sends a large header", respond("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 8<<10) + "\r\nContent-Length: 0\r\n\r\n"), true, lost},
		{"sends interim responses", respond(strings.Repeat("HTTP/1.1 103 Early\r\n\r\n", 9)), true, lost},
		{"sends JSON in chunks", respond("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"), true, lost},
	} {
		w.mu.Lock()
		w.target, w.known = Target{Node: "home", Address: c.address}, c.known
		w.mu.Unlock()
		for i, kind := range kinds {
			if got := w.summary(kind.request); got != c.want[i] {
				t.Errorf("%s, %s: %s, want %s", c.name, kind.name, got, c.want[i])
			}
		}
	}
	w.mu.Lock()
	w.target, w.known = Target{Node: "home", Address: hangs}, true
	w.mu.Unlock()
	for i, kind := range kinds {
		if kind.name == "notification" || kind.name == "answer" || kind.name == "stream" || kind.name == "end" { // the others may take as long as their servers
			if got := w.summary(kind.request); got != lost[i] {
				t.Errorf("hangs, %s: %s, want %s", kind.name, got, lost[i])
			}
		}
	}
	w.aim(Target{Node: "home", Address: respond("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n")})
	if got := w.summary(post(call("tools/call"))); got != "413 MESSAGE_TOO_LARGE" {
		t.Errorf("a large response: %s", got)
	}
	for deadline := time.Now().Add(10 * time.Second); w.relay.Stats() != (Stats{Total: w.relay.Stats().Total}) || w.used() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%+v, %d bytes", w.relay.Stats(), w.used())
		}
	}
}

// A node that cannot be reached, or loses a request, is reported. A node that answers is not.
func TestUnreachedNodesAreReported(t *testing.T) {
	reported := make(chan string, 10)
	w := newRig(t, handlerFunc{}, func(_ *downstream.Options, o *Options) {
		o.Unreached = func(incarnation string) { reported <- incarnation }
	})
	respond := func(response string) string {
		return w.fakeHome(func(c *tls.Conn) {
			readRequest(c)
			_, _ = io.WriteString(c, response)
		})
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for address, want := range map[string]int{
		closed.Addr().String(): 1, respond(""): 1, respond("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"): 0,
	} {
		w.aim(Target{Node: "home", Address: address})
		w.summary(post(call("tools/call")))
		if n := len(reported); n != want || n > 0 && <-reported != homeIncarnation {
			t.Errorf("%d reports, want %d", n, want)
		}
	}
}

// The stream of a call that breaks between events ends with an error event. If it breaks within an event, or if events had ids, it
// breaks for the client, too, which can resume a stream with ids.
func TestBrokenStreams(t *testing.T) {
	w := newRig(t, handlerFunc{}, nil)
	w.relay.limits.silence = 100 * time.Millisecond
	const chunked = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	const open = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
	chunk := func(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }
	const fault = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-31015,"
	for _, c := range []struct {
		name, request, response string
		silent                  bool
		body                    string // how the body begins
		whole                   bool
	}{
		{"complete", post(call("x")), chunked + chunk(":\n\n") + "0\r\n\r\n", false, ":\n\n", true},
		{"between events", post(call("x")), chunked + chunk(":\n\n"), false, ":\n\n" + fault, true},
		{"within an event", post(call("x")), chunked + chunk(":\n\ndata: {"), false, ":\n\ndata: {", false},
		{"with ids", post(call("x")), chunked + chunk("id: 7\ndata: \n\n"), false, "id: 7\ndata: \n\n", false},
		{"with an id later", post(call("x")), chunked + chunk(":\n\n") + chunk("event: message\nid: 7\ndata: {}\n\n"), false, ":\n\nevent: message\nid: 7\ndata: {}\n\n", false},
		{"a bad chunk", post(call("x")), chunked + chunk(":\n\n") + "zz\r\n", false, ":\n\n" + fault, true},
		{"silence", post(call("x")), chunked + chunk(":\n\n"), true, ":\n\n" + fault, true},
		{"batch", post("[" + call("x") + "]"), chunked + chunk(":\n\n"), false, ":\n\n", false},
		{"stream", get, open + ":\n\n", false, ":\n\n", true}, // its end is that of the connection
		{"silent stream", get, open + ":\n\n", true, ":\n\n", true},
	} {
		address := w.fakeHome(func(conn *tls.Conn) {
			readRequest(conn)
			_, _ = io.WriteString(conn, c.response)
			if c.silent {
				readRequest(conn)
			}
			conn.NetConn().Close()
		})
		w.aim(Target{Node: "home", Address: address})
		_, body, whole := dial(t, w.first).send(c.request).read()
		if !strings.HasPrefix(body, c.body) || whole != c.whole || strings.HasSuffix(c.body, fault) != strings.HasSuffix(body, "}}}\n\n") {
			t.Errorf("%s: %q, whole %v", c.name, body, whole)
		}
	}
}

// After a node has answered that it serves another incarnation, or cannot be reached, the target is resolved once more. If it is
// another node by then, the request goes there.
func TestDecidedAnew(t *testing.T) {
	w := newRig(t, answers(), nil)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	right := w.target
	asked := 0
	for _, c := range []struct {
		name  string
		first string
	}{
		{"misdirected", w.fakeHome(func(conn *tls.Conn) {
			readRequest(conn)
			asked++
			w.aim(right)
			_, _ = io.WriteString(conn, "HTTP/1.1 421 Misdirected Request\r\nContent-Length: 2\r\n\r\n{}")
		})},
		{"unreachable", closed.Addr().String()},
	} {
		w.aim(Target{Node: "home", Address: c.first})
		if c.name == "unreachable" {
			w.relay.o.Resolve = func(string) (Target, bool) {
				t := w.target
				w.target = right
				return t, true
			}
		}
		if _, body, _ := dial(t, w.first).send(post(call("pieces"))).read(); body != `{"jsonrpc":"2.0","id":1,"result":{}}` {
			t.Errorf("%s: %s", c.name, body)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

// An idle connection that the other node has closed is not used.
func TestStaleConnections(t *testing.T) {
	w := newRig(t, answers(), nil)
	c := dial(t, w.first)
	for range 5 {
		if _, body, _ := c.send(post(call("pieces"))).read(); body != `{"jsonrpc":"2.0","id":1,"result":{}}` {
			t.Fatal(body)
		}
		w.home.HangUp()
	}
}

// The other node learns that the client has left.
func TestClientLeaves(t *testing.T) {
	left := make(chan string, 1)
	w := newRig(t, handlerFunc{
		post: func(x *downstream.Exchange) {
			x.OnGone(func() { left <- "call" })
			if x.Frame.MethodText() == "stream" {
				x.Notify(note("a"), downstream.WeightAnswer, "")
			}
		},
		open: func(s *downstream.EventStream) {
			s.OnGone(func() { left <- "stream" })
			s.Accept()
		},
	}, nil)
	for _, request := range []string{post(call("wait")), post(call("stream")), get} {
		c := dial(t, w.first).send(request)
		for w.relay.Stats() == (Stats{Total: w.relay.Stats().Total}) {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(20 * time.Millisecond)
		c.Close()
		<-left
	}
	for w.relay.Stats() != (Stats{Total: 3}) {
		time.Sleep(time.Millisecond)
	}
}

// A client that reads slowly slows down the other node, whose own limits end the stream. The first node buffers little.
func TestSlowClient(t *testing.T) {
	gone := make(chan time.Time, 1)
	var began time.Time
	w := newRig(t, handlerFunc{open: func(s *downstream.EventStream) {
		began = time.Now()
		s.OnGone(func() { gone <- time.Now() })
		s.Accept()
		for range 64 {
			s.Push(frame(`"`+strings.Repeat("x", 1<<20)+`"`), downstream.WeightAnswer, "")
		}
	}}, nil)
	c := dial(t, w.first)
	_ = c.Conn.(*net.TCPConn).SetReadBuffer(16 << 10)
	c.send(get)
	time.Sleep(300 * time.Millisecond)
	if used := w.used(); used > 64<<10 {
		t.Errorf("%d bytes are buffered", used)
	}
	select {
	case at := <-gone:
		t.Errorf("ended after %v", at.Sub(began))
	default:
	}
	c.Close()
	<-gone
}

// Requests and streams beyond the limits are refused. When one ends, there is room for another.
func TestTooMany(t *testing.T) {
	release := make(chan struct{})
	w := newRig(t, handlerFunc{post: func(x *downstream.Exchange) {
		go func() {
			<-release
			x.Answer(resultOf(x, "{}"))
		}()
	}}, func(_ *downstream.Options, o *Options) { o.MaxRequests, o.MaxStreams = 2, 1 })
	clients := []*client{dial(t, w.first).send(post(call("x"))), dial(t, w.first).send(post(call("x")))}
	stream := dial(t, w.first).send(get)
	for s := w.relay.Stats(); s.Requests != 2 || s.Streams != 1; s = w.relay.Stats() {
		time.Sleep(time.Millisecond)
	}
	if got := w.summary(post(call("x"))); got != "200 OVERLOADED+" {
		t.Errorf("request: %s", got)
	}
	if got := w.summary(get); got != "503 OVERLOADED+" {
		t.Errorf("stream: %s", got)
	}
	close(release)
	for _, c := range clients {
		c.read()
	}
	stream.Close()
	if got := w.summary(post(call("x"))); got != "200" {
		t.Errorf("afterwards: %s", got)
	}
}

// When a node is given up, what was passed on to it ends. Close ends everything.
func TestLost(t *testing.T) {
	for _, end := range []string{"lost", "close"} {
		arrived := make(chan struct{}, 1)
		w := newRig(t, handlerFunc{post: func(*downstream.Exchange) { arrived <- struct{}{} }}, nil)
		c, s := dial(t, w.first).send(post(call("tasks/list"))), dial(t, w.first).send(get)
		<-arrived
		if _, err := s.r.Peek(1); err != nil {
			t.Fatal(err)
		}
		w.relay.Lost("other")
		if st := w.relay.Stats(); st.Requests != 1 || st.Streams != 1 {
			t.Errorf("%+v", st)
		}
		if end == "lost" {
			w.relay.Lost(homeIncarnation)
		} else {
			w.relay.Close()
		}
		if _, body, _ := c.read(); !strings.Contains(body, "NODE_LOST") {
			t.Errorf("%s: %s", end, body)
		}
		if _, body, _ := s.read(); body != ":\n\n" {
			t.Errorf("%s: %q", end, body)
		}
		if end == "lost" {
			continue
		}
		if got := w.summary(post(call("x"))); got != "200 OVERLOADED+" {
			t.Errorf("after Close: %s", got)
		}
	}
}

// Without a certificate of the cluster nothing is served, and a node of another cluster is sent nothing.
func TestStrangers(t *testing.T) {
	w := newRig(t, handlerFunc{post: func(x *downstream.Exchange) { t.Error("served"); x.Accept() }}, nil)
	other := secretsOf(t)
	anonymous := tlsOf(t, w.secrets, "x")().Clone()
	anonymous.Certificates = nil
	request := strings.Replace(post(call("x")), accepts, accepts+"\r\n"+headerHolder+": local", 1)
	for name, config := range map[string]*tls.Config{"no certificate": anonymous, "another cluster": tlsOf(t, other, "first")()} {
		config := config.Clone()
		config.ServerName, config.RootCAs = "home", tlsOf(t, w.secrets, "x")().RootCAs
		c, err := tls.Dial("tcp", w.node, config)
		if err == nil {
			_, _ = io.WriteString(c, request)
			var text []byte
			text, err = io.ReadAll(c)
			if len(text) > 0 {
				t.Errorf("%s: %q", name, text)
			}
			c.Close()
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for text, want := range map[string]string{request: "HTTPS", strings.Repeat("\x00garbage\xff", 100): ""} {
		c := dial(t, w.node).send(text)
		_ = c.SetDeadline(time.Now().Add(300 * time.Millisecond))
		if got, _ := io.ReadAll(c); !strings.Contains(string(got), want) || want == "" && strings.Contains(string(got), "HTTP") {
			t.Errorf("%.20q: %q", text, got)
		}
	}
	// The other way round: a relay trusts only nodes of its cluster, and only under the name that it expects.
	for name, c := range map[string]struct {
		secrets *cluster.Secrets
		node    string
	}{"another cluster": {other, "home"}, "another name": {w.secrets, "house"}} {
		strange := newRig(t, handlerFunc{post: func(*downstream.Exchange) { t.Error(name + " got a request") }}, nil)
		strange.relay.o.TLS = tlsOf(t, c.secrets, "first")
		strange.aim(Target{Node: c.node, Address: strange.node})
		if c.node == "house" {
			strange.relay.o.TLS = tlsOf(t, strange.secrets, "first")
		}
		if got := strange.summary(post(call("x"))); got != "200 SERVER_UNAVAILABLE+" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A modern request that only a node that is gone could serve gets an error that says what to do, and no talk of sessions.
func TestModernRequestsOfGoneNode(t *testing.T) {
	w := newRig(t, handlerFunc{}, nil)
	w.mu.Lock()
	w.known = false
	w.mu.Unlock()
	const frame = `{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	for _, c := range []struct{ method, params, name, want string }{
		{"tools/call", `"name":"x","requestState":"s"`, "x", "call again without requestState"},
		{"tasks/get", `"taskId":"t"`, "t", "Unknown task"},
	} {
		request := post(fmt.Sprintf(frame, c.method, c.params), accepts, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: "+c.method, "Mcp-Name: "+c.name)
		_, body, _ := dial(t, w.first).send(request).read()
		if !strings.Contains(body, c.want) || strings.Contains(body, "ession") {
			t.Errorf("%s: %s", c.method, body)
		}
	}
}
