package status

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Aim identifies the target of an Action: the process of the gateway, and the connections, the call or the session that
// existed when the operator chose the action. If it is "", the action applies to what exists when it arrives. Only the
// gateway interprets an Aim.
//
// An Aim consists of words. The first is the start of the process. The others identify each connection that lists the
// server's items, or are the start of the call or session.
type Aim string

// Aimed returns a with an Aim at its target in s. If s has no such target, the Aim identifies only the process.
func (s *Snapshot) Aimed(a Action) Action {
	words := []string{moment(s.Started)}
	switch a.Verb {
	case Cancel:
		if i := slices.IndexFunc(s.Calls, func(c Call) bool { return c.ID == a.Call }); i >= 0 {
			words = append(words, moment(s.Calls[i].Began))
		}
	case End:
		if i := slices.IndexFunc(s.Sessions, func(o Session) bool { return o.ID == a.Session }); i >= 0 {
			words = append(words, moment(s.Sessions[i].Since))
		}
	case Restart:
		for i := range s.Backends {
			if b := &s.Backends[i]; b.Catalog && (b.Server == a.Server || b.Member == a.Server) {
				words = append(words, connection(b.Name, b.Incarnation))
			}
		}
	}
	a.Aim = Aim(strings.Join(words, " "))
	return a
}

// IsOf reports whether the aim is at the process that started at the given time, or is "".
func (m Aim) IsOf(started time.Time) bool { return m == "" || m.words()[0] == moment(started) }

// Began reports whether the aim is at the call or session that began at the given time, or is "".
func (m Aim) Began(at time.Time) bool {
	words := m.words()
	return m == "" || len(words) == 2 && words[1] == moment(at)
}

// Has reports whether the aim is at the connection with this Backend.Name and Backend.Incarnation, or is "". While the
// connection is not ready, any incarnation matches: attempts that failed or are in progress do not make it another one.
func (m Aim) Has(name string, incarnation uint64, ready bool) bool {
	if m == "" {
		return true
	}
	return slices.ContainsFunc(m.words()[1:], func(word string) bool {
		return word == connection(name, incarnation) || !ready && strings.HasPrefix(word, name+"#")
	})
}

// words returns the parts of the aim, at least one.
func (m Aim) words() []string { return strings.Split(string(m), " ") }

func moment(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 36) }

func connection(name string, incarnation uint64) string {
	return name + "#" + strconv.FormatUint(incarnation, 10)
}
