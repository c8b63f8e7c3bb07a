package downstream

import (
	"bufio"
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

// pipeListener accepts in-memory connections, so that deadlines use a bubble's clock.
type pipeListener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (*pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8730} }

// servePipe starts a server inside a bubble and returns a function that connects to it.
func servePipe(t *testing.T, handler Handler, o Options, limits limits) (connect func() *rawClient) {
	connect, _ = servePipes(t, handler, o, limits)
	return connect
}

func servePipes(t *testing.T, handler Handler, o Options, limits limits) (connect func() *rawClient, s *Server) {
	s = newServer(handler, o, testLog(t), limits)
	l := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		<-done
		time.Sleep(time.Minute) // fasthttp's workers check for idleness every ten seconds
	})
	return func() *rawClient {
		ours, theirs := net.Pipe()
		l.conns <- theirs
		t.Cleanup(func() { ours.Close() })
		return &rawClient{Conn: ours, r: bufio.NewReaderSize(ours, 64<<10), t: t}
	}, s
}
