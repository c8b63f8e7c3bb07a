package downstream

import (
	"net"
	"testing"
	"time"
)

// slowListener accepts a connection only when the test says so.
type slowListener struct {
	net.Listener
	accept chan struct{}
}

func (l *slowListener) Accept() (net.Conn, error) {
	<-l.accept
	return l.Listener.Accept()
}

// Connections that clients have opened before StopListening are served, although they were not accepted yet. Later ones are refused.
func TestStopListening(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	slow := &slowListener{l, make(chan struct{})}
	s := newServer(handlerFunc{post: echo}, Options{}, testLog(t), testLimits)
	done := make(chan error, 1)
	go func() { done <- s.Serve(slow) }()
	clients := make([]*rawClient, 20)
	for i := range clients {
		clients[i] = dial(t, l.Addr().String()).send(postText(ping))
	}
	for stopped := false; !stopped; { // until the server knows the listener
		s.mu.Lock()
		stopped = len(s.listeners) == 1
		s.mu.Unlock()
	}
	time.AfterFunc(50*time.Millisecond, func() { close(slow.accept) })
	s.StopListening()
	s.StopListening() // again
	if c, err := net.DialTimeout("tcp", l.Addr().String(), time.Second); err == nil {
		_ = c.Close()
		t.Error("a connection after StopListening is accepted")
	}
	for i, c := range clients {
		if r, body := c.body(); r.StatusCode != 200 || body != pong {
			t.Errorf("client %d: %s %s", i, r.Status, body)
		}
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A listener whose last connection is not accepted is closed nevertheless.
func TestStopListeningWithoutAccept(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var c closer
	c.stop(l)
	if _, err := l.Accept(); err == nil {
		t.Error("the listener is open")
	}
}
