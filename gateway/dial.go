package gateway

import (
	"context"
	"io"

	"goblin-actor/internal/inprocess"
)

// Dial opens a session of an MCP client in this process. The client writes its messages to the connection and reads the
// gateway's messages from it, one per line, as on stdin and stdout. Both protocol eras are served. ctx applies only to
// Dial itself, not to the session.
//
// The session has the rights and limits of the program, and its own limit of concurrent calls
// (limits.maxInFlightPerClient, by default 256). If the client does not read, messages for it wait in the gateway up to
// a limit, after which the session ends. Close ends the session and cancels its calls. If the gateway ends, it closes
// the connection too. The transports of packages gateway/mcpgo and gateway/gosdk call Dial.
func (g *Gateway) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.stopped:
		return nil, ErrStopped
	default:
	}
	p, err := inprocess.Open(ctx, g.actors, g.cfg.Limits, g.self.Project, g.log)
	if err != nil {
		return nil, err
	}
	if g.sessions == nil {
		g.sessions = map[*inprocess.Pipe]struct{}{}
	}
	g.sessions[p] = struct{}{}
	return &session{p, g}, nil
}

// session is the connection that Dial returns.
type session struct {
	*inprocess.Pipe
	g *Gateway
}

func (s *session) Close() error {
	s.g.mu.Lock()
	delete(s.g.sessions, s.Pipe)
	s.g.mu.Unlock()
	return s.Pipe.Close()
}

// hangUp closes all sessions that Dial has opened.
func (g *Gateway) hangUp() {
	g.mu.Lock()
	open := g.sessions
	g.sessions = nil
	g.mu.Unlock()
	for p := range open {
		_ = p.Close()
	}
}
