package actors

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// logLevels holds the log levels that sessions have set. Servers get the most verbose of them, and each session filters what it
// passes on to its client.
type logLevels struct {
	wanted  map[kernel.Reference]protocol.Level // by session
	current protocol.Level                      // the servers' level; "" = no session wants one
}

func newLogLevels() logLevels { return logLevels{wanted: map[kernel.Reference]protocol.Level{}} }

// set records a session's level; "" removes it.
func (l *logLevels) set(session kernel.Reference, level protocol.Level) {
	if level == "" {
		delete(l.wanted, session)
	} else {
		l.wanted[session] = level
	}
}

// choose updates current to the most verbose wanted level and reports whether that changed it.
func (l *logLevels) choose() bool {
	best := protocol.LevelNone
	for _, level := range l.wanted {
		if level.MoreVerbose(best) {
			best = level
		}
	}
	changed := best != l.current
	l.current = best
	return changed
}

// setLevel records the level that a session has set. It ignores sessions that have ended, since ChildStopped may overtake messages
// that the session sent before.
func (s *state) setLevel(m message.SetSessionLevel, out []kernel.Effect) []kernel.Effect {
	if !s.sessions.members.Has(m.Session) && !s.stateless.has(m.Session) {
		m.Level = ""
	}
	s.levels.set(m.Session, m.Level)
	if out = s.updateLevel(out); m.Seq != 0 {
		out = append(out, kernel.Tell(m.Session, message.SetSessionLevelResult{Seq: m.Seq}))
	}
	return out
}

// updateLevel sends the servers the most verbose level that any session wants, if that has changed.
func (s *state) updateLevel(out []kernel.Effect) []kernel.Effect {
	if !s.levels.choose() {
		return out
	}
	return s.servers.tell(message.SetLevel{Level: s.levels.current}, out)
}
