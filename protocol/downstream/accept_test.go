package downstream

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// fullListener returns EMFILE from the first calls of Accept.
type fullListener struct {
	net.Listener
	left atomic.Int32
}

func (l *fullListener) Accept() (net.Conn, error) {
	if l.left.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return l.Listener.Accept()
}

// A server that runs out of file descriptors keeps running, logs the error once, and accepts connections once it can
// again.
func TestServerWithoutDescriptors(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &fullListener{Listener: tcp}
	l.left.Store(5)
	var said bytes.Buffer
	s := NewServer(handlerFunc{post: echo}, Options{}, slog.New(slog.NewTextHandler(&said, nil)))
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	conn, err := net.Dial("tcp", tcp.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	_, _ = conn.Write([]byte("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json\r\nContent-Length: 40\r\n\r\n" + body))
	_ = conn.SetReadDeadline(time.Now().Add(2 * time.Minute))
	answer := make([]byte, 15)
	if n, err := conn.Read(answer); err != nil || !strings.HasPrefix(string(answer[:n]), "HTTP/1.1 200") {
		t.Errorf("got %q, %v", answer[:n], err)
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if log := said.String(); strings.Count(log, "too many open files") != 2 || !strings.Contains(log, "ulimit -n") { // in the error and in the hint, logged once
		t.Errorf("log: %s", log)
	}
}
