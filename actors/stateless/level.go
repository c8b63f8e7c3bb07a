package stateless

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// levelLook is how often a desk looks whether anybody still wants logs as verbose as its servers were told to be.
const levelLook = time.Minute

// levelDue says that it is time to look.
type levelDue struct{}

// wantedLevel is the least grave log level a request asks for; LevelNone = it wants no log lines.
func wantedLevel(x *downstream.Exchange) protocol.Level {
	return protocol.LevelOf(x.Params.MetaLogLevel.Of(x.Frame.Raw))
}

// wantLevel has the servers log as verbosely as the request asks for, as long as such requests come or run.
func (s *state) wantLevel(x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	wanted := wantedLevel(x)
	if wanted.MoreVerbose(s.askedLevel) {
		s.askedLevel = wanted
	}
	if !wanted.MoreVerbose(s.toldLevel) {
		return out
	}
	if s.toldLevel == protocol.LevelNone {
		out = append(out, kernel.WakeAfter(levelLook, levelDue{}))
	}
	return s.tellLevel(wanted, out)
}

func (s *state) tellLevel(level protocol.Level, out []kernel.Effect) []kernel.Effect {
	s.toldLevel = level
	return append(out, kernel.Tell(s.owner, message.SetSessionLevel{Session: s.self, Level: level}))
}

// levelDue lets the servers log less when nobody has asked for more since the last look.
func (s *state) levelDue(out []kernel.Effect) []kernel.Effect {
	wanted := s.askedLevel
	for _, v := range s.calls.All() {
		if v.caller.LogLevel.MoreVerbose(wanted) {
			wanted = v.caller.LogLevel
		}
	}
	s.askedLevel = protocol.LevelNone
	if s.toldLevel.MoreVerbose(wanted) {
		out = s.tellLevel(wanted, out)
	}
	if s.toldLevel == protocol.LevelNone {
		return out
	}
	return append(out, kernel.WakeAfter(levelLook, levelDue{}))
}
