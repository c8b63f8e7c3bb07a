package session

import (
	"strings"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// maxLevels limits the logging/setLevel requests of a session that wait for the gateway. Further ones are answered at
// once.
const maxLevels = 16

// setLevel sets the client's minimum log level. The request is answered after the gateway has passed the level on to
// the servers, so that the level holds for the client's next call. MCP 2025-11-25, server/utilities/logging.
func (s *state) setLevel(x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	level := protocol.LevelOf(x.Params.Level.Of(x.Frame.Raw))
	if level == protocol.LevelNone {
		name, _ := rawjson.Unquote(x.Params.Level.Of(x.Frame.Raw))
		return s.fault(x, protocol.BadParams("params.level: got "+quote(name)+", want one of "+strings.Join(protocol.LevelNames(), " ")), out)
	}
	s.client.level = level
	out = s.tellNodes(cluster.Hint{Kind: cluster.HintLevel, Level: string(level)}, out)
	if len(s.client.pendingLevels) >= maxLevels {
		return s.answerNoted(x, append(out, kernel.Tell(s.gateway, message.SetSessionLevel{Session: s.self, Level: level})))
	}
	seq := s.calls.Next()
	put(&s.client.pendingLevels, seq, x)
	return append(out, kernel.Tell(s.gateway, message.SetSessionLevel{Session: s.self, Level: level, Seq: seq}))
}

// levelSet answers a logging/setLevel, or lets a guest serve its first messages.
func (s *state) levelSet(now time.Time, m message.SetSessionLevelResult, out []kernel.Effect) []kernel.Effect {
	x := s.client.pendingLevels[m.Seq]
	if x == nil {
		return s.guestLeveled(now, m, out)
	}
	delete(s.client.pendingLevels, m.Seq)
	return s.answerNoted(x, out)
}

// wantsLog reports whether the client gets a log line. If the client's level is debug or not set, it gets all lines.
// Otherwise it gets the lines whose level is at least the client's, missing or unknown, but none with invalid params.
func (s *state) wantsLog(f *protocol.Frame) bool {
	if s.client.level == protocol.LevelNone || s.client.level == protocol.LevelDebug {
		return true
	}
	var params protocol.Params
	if params.Scan(f) != nil {
		return false
	}
	line := protocol.LevelOf(params.Level.Of(f.Raw))
	return line == protocol.LevelNone || s.client.level.Admits(line)
}
