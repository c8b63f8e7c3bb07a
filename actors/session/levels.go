package session

import (
	"strings"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// maxLevels is how many logging/setLevel of a session may wait for the gateway; of more nobody waits.
const maxLevels = 16

// setLevel keeps the level below which this client wants no log lines. It is answered when the gateway has told the servers: who gets the answer may
// call at once, and hear all of it. MCP 2025-11-25, server/utilities/logging.
func (s *state) setLevel(x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	level := protocol.LevelOf(x.Params.Level.Of(x.Frame.Raw))
	if level == protocol.LevelNone {
		name, _ := rawjson.Unquote(x.Params.Level.Of(x.Frame.Raw))
		return s.fault(x, protocol.BadParams("params.level: got "+quote(name)+", want one of "+strings.Join(protocol.LevelNames(), " ")), out)
	}
	s.client.level = level
	if len(s.client.pendingLevels) >= maxLevels {
		return s.result(x, []byte("{}"), append(out, kernel.Tell(s.gateway, message.SetSessionLevel{Session: s.self, Level: level})))
	}
	seq := s.calls.Next()
	put(&s.client.pendingLevels, seq, x)
	return append(out, kernel.Tell(s.gateway, message.SetSessionLevel{Session: s.self, Level: level, Seq: seq}))
}

// levelWanted answers a logging/setLevel.
func (s *state) levelSet(m message.SetSessionLevelResult, out []kernel.Effect) []kernel.Effect {
	x := s.client.pendingLevels[m.Seq]
	if x == nil {
		return out
	}
	delete(s.client.pendingLevels, m.Seq)
	return s.result(x, []byte("{}"), out)
}

// wantsLog reports whether a log line is at least as grave as the client wants.
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
