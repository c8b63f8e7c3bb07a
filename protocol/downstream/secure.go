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

// pacedConn is the socket of a TLS connection. It sets the write deadlines, because a TLS connection is unusable after a
// write that timed out in the middle of a record.
type pacedConn struct {
	net.Conn
	server   *Server
	deadline time.Time // the write deadline; crypto/tls serializes writes
}

func (c *pacedConn) Write(p []byte) (int, error) { return c.server.writePaced(c.Conn, p, &c.deadline) }

// plainAnswer is the response to a plain HTTP request on a port that expects TLS.
const plainAnswer = "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n" + protocol.SpeaksHTTPS + ": begin the URL with https://\n"

// answerPlainHTTP sends plainAnswer if the TLS handshake failed with err because the client has sent plain HTTP.
func answerPlainHTTP(err error) {
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

// socket returns the socket of a connection, unwrapping TLS if present.
func socket(c net.Conn) net.Conn {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	if paced, ok := c.(*pacedConn); ok {
		c = paced.Conn
	}
	return c
}

// cut closes a connection at once. Closing the TLS connection would first send an alert, and could block.
func cut(c net.Conn) { _ = socket(c).Close() }

// hangUp closes a connection without blocking. With TLS, an alert tells the client that the end is intended.
func hangUp(c net.Conn) {
	if _, secure := c.(*tls.Conn); secure {
		go c.Close()
		return
	}
	_ = c.Close()
}

// socketOf returns the raw socket of a connection. It returns false if there is none.
func socketOf(c net.Conn) (syscall.RawConn, bool) {
	conn, ok := socket(c).(syscall.Conn)
	if !ok {
		return nil, false
	}
	raw, err := conn.SyscallConn()
	return raw, err == nil
}

// addrPortOf returns a TCP address, or the zero value for other addresses.
func addrPortOf(a net.Addr) netip.AddrPort {
	if tcp, ok := a.(*net.TCPAddr); ok {
		at := tcp.AddrPort()
		return netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port())
	}
	return netip.AddrPort{}
}
