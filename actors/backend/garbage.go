package backend

import (
	"errors"
	"log/slog"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
)

// garbage counts the lines that were not messages, and keeps the first and the last.
type garbage struct {
	lines       int
	first, last string
}

// maxGarbage limits a kept line, in bytes.
const maxGarbage = 200

func (g *garbage) add(line []byte) {
	g.last = status.Printable(string(line[:min(len(line), 2*maxGarbage)]), maxGarbage)
	if g.lines++; g.lines == 1 {
		g.first = g.last
	}
}

// receivedGarbage handles input that is not a valid message. If it was meant as the response to a pending request, that request
// fails at once, since no other response will come. Otherwise the first such input on a connection is logged as a warning, and
// later ones at level debug.
func (s *state) receivedGarbage(now time.Time, e upstream.Noise, out []kernel.Effect) []kernel.Effect {
	s.life.garbage.add(e.Line)
	if id, ok := parseID(e.ID); ok && s.conn.pending[id] != nil {
		return s.unusableAnswer(now, id, e, out)
	}
	level := slog.LevelDebug
	if !s.conn.seen.garbage {
		s.conn.seen.garbage, level = true, slog.LevelWarn
	}
	text := "server wrote a line to stdout that is not an MCP message; a stdio server must log to stderr"
	if !s.link.ownsServer {
		text = "server sent data that is not an MCP message"
	}
	return append(out, kernel.Log(level, text, "bytes", len(e.Line), "err", e.Err))
}

// unusableAnswer fails the request whose response is not a valid message.
func (s *state) unusableAnswer(now time.Time, id uint32, e upstream.Noise, out []kernel.Effect) []kernel.Effect {
	name, hint := protocol.InternalFault, "the server's responses are not JSON-RPC 2.0; fix or update the server"
	if errors.Is(e.Err, stream.ErrFrameTooLarge) {
		name, hint = protocol.MessageTooLarge, "raise limits.maxMessageBytes, or make the server send smaller responses"
	}
	out = append(out, kernel.Log(slog.LevelWarn, "server sent an invalid response", s.conn.pending[id].sampled().LogArgs("err", e.Err, "hint", hint)...))
	return s.fail(now, id, name, "server "+s.server.Name+" sent an invalid response: "+e.Err.Error(), out)
}

// strayAnswer logs a response that no pending request matches. If given is true, the gateway has issued the id: its
// request was answered before, canceled, or timed out. Otherwise the first such response on a connection is logged as a
// warning, because the request that it was meant for will time out.
func (s *state) strayAnswer(raw []byte, given bool, out []kernel.Effect) []kernel.Effect {
	level, text := slog.LevelDebug, "server answered a request that is no longer pending"
	if !given {
		text = "server answered with an unknown id; the request that it was meant for will time out"
		if !s.conn.seen.strayID {
			s.conn.seen.strayID, level = true, slog.LevelWarn
		}
	}
	return append(out, kernel.Log(level, text, "id", status.Cut(string(raw), 64)))
}
