package stateless

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// levelInterval is the interval between checks whether requests still want the log level that was sent to the servers.
const levelInterval = time.Minute

// levelDue arrives when levelInterval has passed.
type levelDue struct{}

// levels are the log levels of recent requests; LevelNone = none wants log lines.
type levels struct {
	sent   protocol.Level // the level that was last sent to the servers
	wanted protocol.Level // the most verbose level of the requests since the last check
}

// wantedLevel returns the log level that a request wants; LevelNone = it wants no log lines.
func wantedLevel(x *downstream.Exchange) protocol.Level {
	return protocol.LevelOf(x.Params.MetaLogLevel.Of(x.Frame.Raw))
}

// raiseLevel makes the servers log as verbosely as the request wants. levelDue lowers the level later.
func (s *state) raiseLevel(x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	wanted := wantedLevel(x)
	if wanted.MoreVerbose(s.levels.wanted) {
		s.levels.wanted = wanted
	}
	if !wanted.MoreVerbose(s.levels.sent) {
		return out
	}
	if s.levels.sent == protocol.LevelNone {
		out = append(out, kernel.WakeAfter(levelInterval, levelDue{}))
	}
	return s.setLevel(wanted, out)
}

func (s *state) setLevel(level protocol.Level, out []kernel.Effect) []kernel.Effect {
	s.levels.sent = level
	return append(out, kernel.Tell(s.gateway, message.SetSessionLevel{Session: s.self, Level: level}))
}

// levelDue lowers the servers' log level to the most verbose one that a request since the last check or a running call
// wants.
func (s *state) levelDue(out []kernel.Effect) []kernel.Effect {
	wanted := s.levels.wanted
	for _, v := range s.calls.All() {
		if v.caller.LogLevel.MoreVerbose(wanted) {
			wanted = v.caller.LogLevel
		}
	}
	s.levels.wanted = protocol.LevelNone
	if s.levels.sent.MoreVerbose(wanted) {
		out = s.setLevel(wanted, out)
	}
	if s.levels.sent == protocol.LevelNone {
		return out
	}
	return append(out, kernel.WakeAfter(levelInterval, levelDue{}))
}
