package downstream

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"goblin-actor/protocol"
)

// certificate returns a certificate for localhost, and a pool that trusts it.
func certificate(t testing.TB) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pool
}

// serveTLS starts a server with TLS, and returns a function that connects to it.
func serveTLS(t testing.TB, handler Handler, o Options, limits limits) (s *Server, address string, connect func() *rawClient) {
	pair, pool := certificate(t)
	o.TLS = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, Certificates: []tls.Certificate{pair}}
	s, address = serve(t, handler, o, limits)
	return s, address, func() *rawClient {
		c, err := tls.Dial("tcp", address, &tls.Config{RootCAs: pool, ServerName: "localhost", NextProtos: []string{"h2", "http/1.1"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(time.Minute))
		return &rawClient{Conn: c, r: bufio.NewReader(c), t: t}
	}
}

// S5.1.6: messages, large answers, refusals and slow calls work over TLS.
func TestTLS(t *testing.T) {
	large := strings.Repeat("x", 3<<20)
	gone := make(chan struct{})
	handler := handlerFunc{post: func(x *Exchange) {
		switch x.Frame.MethodText() {
		case "large":
			x.Answer(protocol.Message{Frame: resultOf(x, []byte(`"`+large+`"`))})
		case "wait":
			x.OnGone(func() { close(gone) })
		default:
			echo(x)
		}
	}}
	_, _, connect := serveTLS(t, handler, Options{MaxMessageBytes: 1 << 20}, testLimits)
	c := connect()
	if p := c.Conn.(*tls.Conn).ConnectionState().NegotiatedProtocol; p != "http/1.1" {
		t.Errorf("protocol %q", p)
	}
	if _, body := c.send(postText(ping)).body(); body != pong {
		t.Error(body)
	}
	if _, body := c.send(postText(`{"jsonrpc":"2.0","id":1,"method":"large"}`)).body(); len(body) < len(large) {
		t.Errorf("%d bytes of a large answer", len(body))
	}
	if r, _ := connect().send(postHead + "Content-Length: 9000000\r\n\r\n" + large[:9000]).body(); r.StatusCode != 413 {
		t.Errorf("too large: %d", r.StatusCode)
	}
	waits := connect().send(postText(`{"jsonrpc":"2.0","id":1,"method":"wait"}`))
	time.Sleep(2 * defaultWatchAfter)
	waits.Close()
	select {
	case <-gone:
	case <-time.After(10 * time.Second):
		t.Error("OnGone was not called")
	}
}

// Streams work over TLS. They end with an alert, and a client that leaves is detected.
func TestStreamsOverTLS(t *testing.T) {
	var streams collect[*EventStream]
	left := make(chan struct{}, 2)
	handler := handlerFunc{open: func(s *EventStream) {
		s.OnGone(func() { left <- struct{}{} })
		s.Accept()
		streams.Add(s)
	}}
	s, _, connect := serveTLS(t, handler, Options{KeepAlive: 50 * time.Millisecond}, testLimits)
	const get = "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
	one := connect().send(get)
	events := bufio.NewReader(one.response().Body)
	// Sent only after the first response, so that the first stream is that of the first client.
	two := connect().send(get)
	two.response()
	if _, n := s.Connections(); n != 2 {
		t.Fatalf("%d streams", n)
	}
	streams.All()[0].Push(protocol.Message{Frame: []byte(`{"x":1}`)}, WeightAnswer, "")
	for found, comments := false, 0; !found || comments < 3; {
		line, err := events.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		found = found || strings.Contains(line, `{"x":1}`)
		if strings.HasPrefix(line, ":") {
			comments++
		}
	}
	two.Close()
	wait(t, left)
	streams.All()[0].Close()
	if _, err := io.Copy(io.Discard, events); err != nil {
		t.Errorf("the stream ended without an alert: %v", err)
	}
	wait(t, left)
}

func wait(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(10 * time.Second):
		t.Fatal("the stream has not ended")
	}
}

// A slow reader of a large answer gets all of it if it makes progress; one that reads nothing loses its connection.
func TestSlowReadersOverTLS(t *testing.T) {
	large := strings.Repeat("x", 24<<20)
	handler := handlerFunc{post: func(x *Exchange) {
		x.Answer(protocol.Message{Frame: resultOf(x, []byte(`"`+large+`"`))})
	}}
	s, _, connect := serveTLS(t, handler, Options{WriteTimeout: 3 * time.Second}, testLimits)
	c := connect().send(postText(ping))
	r := c.response()
	buffer, total := make([]byte, 4<<20), 0
	for {
		n, err := io.ReadFull(r.Body, buffer)
		if total += n; err != nil {
			break
		}
		time.Sleep(700 * time.Millisecond)
	}
	if total < len(large) {
		t.Errorf("got %d bytes", total)
	}
	c.Close()
	c = connect().send(postText(ping))
	r = c.response()
	eventually(t, "the connection to be closed", func() bool { // after three, six or, if the kernel finds more buffer space, nine seconds
		open, _ := s.Connections()
		return open == 0
	})
	if n, err := io.Copy(io.Discard, r.Body); err == nil {
		t.Errorf("the client that reads nothing got all %d bytes", n)
	}
}

// S5.1.6: a request in plain HTTP gets a helpful answer. A TLS handshake must finish in the time for a header.
func TestNoTLS(t *testing.T) {
	short := testLimits
	short.header = 200 * time.Millisecond
	_, address, connect := serveTLS(t, handlerFunc{post: echo}, Options{}, short)
	if r, body := dial(t, address).send(postText(ping)).body(); r.StatusCode != 400 || !strings.Contains(body, "https://") {
		t.Errorf("%d %s", r.StatusCode, body)
	}
	for _, words := range []string{"", "\x16\x03\x01\x02\x00\x01\x00"} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, words)
		c.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.Copy(io.Discard, c); err != nil {
			t.Errorf("after %q: %v", words, err)
		}
	}
	if _, body := connect().send(postText(ping)).body(); body != pong {
		t.Error(body)
	}
}
