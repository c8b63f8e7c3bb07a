package downstream

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"time"

	"goblin-actor/protocol"
)

// pacedConn is the socket below a TLS connection. Who is slow is judged here: above, a write that was cut off in the middle of a
// record would leave a connection that can say nothing any more.
type pacedConn struct {
	net.Conn
	server   *Server
	deadline time.Time // for writing; TLS writes one record after the other
}

func (c *pacedConn) Write(p []byte) (int, error) { return c.server.writePaced(c.Conn, p, &c.deadline) }

// plainAnswer is the response to a request in plain HTTP on a port with TLS.
const plainAnswer = "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n" + protocol.SpeaksHTTPS + ": begin the URL with https://\n"

// correct tells a client so whose first words are plain HTTP.
func correct(err error) {
	spoken, ok := errors.AsType[tls.RecordHeaderError](err)
	if !ok || spoken.Conn == nil {
		return
	}
	for _, verb := range []string{"GET /", "POST ", "OPTIO", "DELET", "HEAD "} {
		if string(spoken.RecordHeader[:]) == verb {
			_, _ = io.WriteString(spoken.Conn, plainAnswer)
			return
		}
	}
}

// beneath is the socket of a connection, below TLS if there is some.
func beneath(c net.Conn) net.Conn {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	if paced, ok := c.(*pacedConn); ok {
		c = paced.Conn
	}
	return c
}

// cut closes a connection without another word: TLS would say goodbye first, and wait for room to do so.
func cut(c net.Conn) { _ = beneath(c).Close() }

// hangUp closes a connection without waiting. TLS says goodbye, so that its client knows an end from a loss.
func hangUp(c net.Conn) {
	if _, secure := c.(*tls.Conn); secure {
		go c.Close()
		return
	}
	_ = c.Close()
}

// socketOf is what the system knows a connection by; false where it knows none.
func socketOf(c net.Conn) (syscall.RawConn, bool) {
	socket, ok := beneath(c).(syscall.Conn)
	if !ok {
		return nil, false
	}
	raw, err := socket.SyscallConn()
	return raw, err == nil
}

// addrPortOf is an address of the internet; the zero value for others.
func addrPortOf(a net.Addr) netip.AddrPort {
	if tcp, ok := a.(*net.TCPAddr); ok {
		at := tcp.AddrPort()
		return netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port())
	}
	return netip.AddrPort{}
}
