package status

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Aim identifies what an Action is about: this process of the gateway, and the connections, the call or the session that
// it had when the operator chose the action. "" = whatever is there when the action arrives. Only the gateway interprets it.
//
// It consists of words: the process; then each connection that lists the server's items, or the beginning of the call or session.
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

// IsOf reports whether the aim is at the process that started then.
func (m Aim) IsOf(started time.Time) bool { return m == "" || m.words()[0] == moment(started) }

// Began reports whether the aim is at the call or session that began then.
func (m Aim) Began(at time.Time) bool {
	words := m.words()
	return m == "" || len(words) == 2 && words[1] == moment(at)
}

// Has reports whether the aim is at a server's connection: see Backend. An attempt to connect that failed or is in
// progress is part of the same connection. A connection that has become ready since is not.
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
