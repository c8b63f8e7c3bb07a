package desk

import (
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// levelLook is how often a desk looks whether anybody still wants logs as verbose as its servers were told to be.
const levelLook = time.Minute

// levelDue: it is time to look.
type levelDue struct{}

// wantedLevel is the least grave log level a request asks for; len(protocol.LogLevels) = it wants no log lines.
func wantedLevel(x *downstream.Exchange) int {
	name, _ := protocol.Unquote(x.Params.MetaLogLevel.Of(x.Frame.Raw))
	if i := slices.Index(protocol.LogLevels, name); i >= 0 {
		return i
	}
	return len(protocol.LogLevels)
}

// wantLevel has the servers log as verbosely as the request asks for, as long as such requests come or run.
func (s *state) wantLevel(x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	i := wantedLevel(x)
	s.askedLevel = min(s.askedLevel, i)
	if i >= s.toldLevel {
		return out
	}
	if s.toldLevel == len(protocol.LogLevels) {
		out = append(out, kernel.WakeAfter(levelLook, levelDue{}))
	}
	return s.tellLevel(i, out)
}

func (s *state) tellLevel(i int, out []kernel.Effect) []kernel.Effect {
	s.toldLevel = i
	name := ""
	if i < len(protocol.LogLevels) {
		name = protocol.LogLevels[i]
	}
	return append(out, kernel.Tell(s.owner, message.WantLevel{Session: s.self, Level: name}))
}

// levelDue lets the servers log less when nobody has asked for more since the last look.
func (s *state) levelDue(out []kernel.Effect) []kernel.Effect {
	wanted := s.askedLevel
	for _, v := range s.calls {
		if i := slices.Index(protocol.LogLevels, v.caller.LogLevel); i >= 0 {
			wanted = min(wanted, i)
		}
	}
	s.askedLevel = len(protocol.LogLevels)
	if wanted > s.toldLevel {
		out = s.tellLevel(wanted, out)
	}
	if s.toldLevel == len(protocol.LogLevels) {
		return out
	}
	return append(out, kernel.WakeAfter(levelLook, levelDue{}))
}
