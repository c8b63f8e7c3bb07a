package gatetest

import (
	"io"
	"net"
	"strings"
	"sync"
)

// forward is an address and the address to which connections are passed on. Both are paths of sockets, or host:port.
type forward struct{ From, To string }

// gate holds back bytes while it is closed. While it is broken, it also ends the connections through it. A nil gate is open.
type gate struct {
	mu     sync.Mutex
	open   chan struct{} // closed while the gate is open
	broken bool
	conns  map[net.Conn]bool // those that pass through the gate
}

func newGate() *gate {
	g := &gate{open: make(chan struct{}), conns: map[net.Conn]bool{}}
	close(g.open)
	return g
}

// pass blocks while the gate is closed.
func (g *gate) pass() {
	if g == nil {
		return
	}
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	<-open
}

// add reports whether a new connection may pass through the gate. It must be removed at its end.
func (g *gate) add(c net.Conn) bool {
	if g == nil {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.broken {
		g.conns[c] = true
	}
	return !g.broken
}

func (g *gate) remove(c net.Conn) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, c)
}

// set opens or closes the gate, or breaks it.
func (g *gate) set(open, broken bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
		if !open {
			g.open = make(chan struct{})
		}
	default:
		if open {
			close(g.open)
		}
	}
	if g.broken = broken; broken {
		for c := range g.conns {
			_ = c.Close()
		}
	}
}

// listenAt listens at a path or at host:port.
func listenAt(address string) (net.Listener, error) { return net.Listen(networkOf(address), address) }

func networkOf(address string) string {
	if strings.HasPrefix(address, "/") {
		return "unix"
	}
	return "tcp"
}

// passOn passes the connections of a listener on to an address until the listener is closed. Bytes to the address wait for the gate
// there, bytes from it for the gate back; nil = no gate. A new connection waits for both.
func passOn(l net.Listener, to string, there, back *gate) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go passOne(c, to, there, back)
	}
}

func passOne(c net.Conn, to string, there, back *gate) {
	defer func() { _ = c.Close() }()
	there.pass()
	back.pass()
	for _, g := range []*gate{there, back} {
		if !g.add(c) {
			return
		}
		defer g.remove(c)
	}
	other, err := net.Dial(networkOf(to), to)
	if err != nil {
		return
	}
	defer func() { _ = other.Close() }()
	var both sync.WaitGroup
	both.Go(func() { pour(other, c, there) })
	both.Go(func() { pour(c, other, back) })
	both.Wait()
}

// pour copies bytes until the end of the source, and then ends the destination.
func pour(to, from net.Conn, g *gate) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		g.pass()
		if n > 0 {
			if _, failed := to.Write(buffer[:n]); failed != nil {
				_ = from.Close()
				return
			}
		}
		switch {
		case err == nil:
		case err == io.EOF:
			if half, ok := to.(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite()
			}
			return
		default: // the connection was reset, or ended by a gate
			_ = to.Close()
			return
		}
	}
}
