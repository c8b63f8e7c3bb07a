package stateless

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// levelInterval is how often a stateless session checks whether requests still want logs as verbose as its servers were told.
const levelInterval = time.Minute

// levelDue says that levelInterval has passed.
type levelDue struct{}

// levels are the most verbose log levels of requests; LevelNone = none wants log lines.
type levels struct {
	told  protocol.Level // the level that the servers were told
	asked protocol.Level // the most verbose of the requests since the last check
}

// wantedLevel returns the most verbose log level that a request wants; LevelNone = it wants no log lines.
func wantedLevel(x *downstream.Exchange) protocol.Level {
	return protocol.LevelOf(x.Params.MetaLogLevel.Of(x.Frame.Raw))
}

// raiseLevel makes the servers log as verbosely as the request wants, as long as such requests arrive or run.
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

// levelDue makes the servers log less if no request has wanted more since the last check.
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
