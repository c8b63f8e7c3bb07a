package downstream

import (
	"bytes"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// handOver gives the connection of a request with an Upgrade header to the owner that Options.Upgrade returns for the path. It
// reports whether there is one. The connection no longer belongs to the server: Shutdown does not close it. The client must
// not send anything after its request before it has read the response.
func (s *Server) handOver(ctx *fasthttp.RequestCtx, c *serverConn, path []byte) bool {
	protocol := ctx.Request.Header.Peek("Upgrade")
	if len(protocol) == 0 {
		return false
	}
	owner := s.options.Upgrade(string(path), string(protocol))
	if owner == nil {
		return false
	}
	head := bytes.Join([][]byte{[]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "), protocol, []byte("\r\n\r\n")}, nil)
	raw := c.take()
	ctx.SetConnectionClose() // fasthttp forgets the connection; its response is discarded
	go switchProtocol(raw, head, owner)
	return true
}

func switchProtocol(raw net.Conn, head []byte, owner func(net.Conn)) {
	err := raw.SetReadDeadline(time.Time{})
	if err == nil {
		_, err = raw.Write(head)
	}
	if err != nil {
		cut(raw)
		return
	}
	owner(raw)
}
