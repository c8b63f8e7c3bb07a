package stateless

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// levelLook is how often a desk looks whether anybody still wants logs as verbose as its servers were told to be.
const levelInterval = time.Minute

// levelDue says that it is time to look.
type levelDue struct{}

// levels are the most verbose log levels of requests; LevelNone = none wants log lines.
type levels struct {
	told  protocol.Level // as the servers were told
	asked protocol.Level // of the requests since the last look
}

// wantedLevel is the least grave log level a request asks for; LevelNone = it wants no log lines.
func wantedLevel(x *downstream.Exchange) protocol.Level {
	return protocol.LevelOf(x.Params.MetaLogLevel.Of(x.Frame.Raw))
}

// wantLevel has the servers log as verbosely as the request asks for, as long as such requests come or run.
func (s *state) raiseLevel(x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	wanted := wantedLevel(x)
	if wanted.MoreVerbose(s.levels.asked) {
		s.levels.asked = wanted
	}
	if !wanted.MoreVerbose(s.levels.told) {
		return out
	}
	if s.levels.told == protocol.LevelNone {
		out = append(out, kernel.WakeAfter(levelInterval, levelDue{}))
	}
	return s.setLevel(wanted, out)
}

func (s *state) setLevel(level protocol.Level, out []kernel.Effect) []kernel.Effect {
	s.levels.told = level
	return append(out, kernel.Tell(s.gateway, message.SetSessionLevel{Session: s.self, Level: level}))
}

// levelDue lets the servers log less when nobody has asked for more since the last look.
func (s *state) levelDue(out []kernel.Effect) []kernel.Effect {
	wanted := s.levels.asked
	for _, v := range s.calls.All() {
		if v.caller.LogLevel.MoreVerbose(wanted) {
			wanted = v.caller.LogLevel
		}
	}
	s.levels.asked = protocol.LevelNone
	if s.levels.told.MoreVerbose(wanted) {
		out = s.setLevel(wanted, out)
	}
	if s.levels.told == protocol.LevelNone {
		return out
	}
	return append(out, kernel.WakeAfter(levelInterval, levelDue{}))
}
