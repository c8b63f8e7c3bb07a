package process

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"goblin-actor/bench/wire"
)

// remote is a client of a control socket. It is used by one goroutine.
type remote struct {
	conn  net.Conn
	lines *bufio.Reader
}

// command sends a command and returns the result. It connects if necessary, and waits up to 10 s for the socket, which
// a server creates when it starts.
func (r *remote) command(path, text string) (int, error) {
	for began := time.Now(); r.conn == nil; time.Sleep(time.Millisecond) {
		conn, err := net.Dial("unix", path)
		if err == nil {
			r.conn, r.lines = conn, bufio.NewReader(conn)
		} else if time.Since(began) > 10*time.Second {
			return 0, err
		}
	}
	if err := r.conn.SetDeadline(time.Now().Add(wire.ExchangeTimeout)); err != nil {
		return 0, err
	}
	if _, err := io.WriteString(r.conn, text+"\n"); err != nil {
		return 0, err
	}
	line, err := r.lines.ReadString('\n')
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err == nil && n < 0 {
		err = errors.New("the raw server does not support the command " + text)
	}
	return n, err
}

// Close closes the connection to the control socket.
func (r *remote) Close() {
	if r.conn != nil {
		_ = r.conn.Close()
		r.conn = nil
	}
}
