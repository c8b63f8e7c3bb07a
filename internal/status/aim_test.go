package status

import (
	"testing"
	"time"
)

// An Aim matches only the process for which it was made, and what existed there at that time. An empty Aim matches everything.
func TestAim(t *testing.T) {
	began := time.Unix(100, 7)
	s := &Snapshot{Started: began, Calls: []Call{{ID: "desk/0/1", Began: began.Add(1)}}, Backends: []Backend{
		{Server: "a", Name: "0.1", Catalog: true, Incarnation: 3}, {Server: "a", Name: "0.2", Incarnation: 1}, {Server: "g", Member: "m", Name: "1.1", Catalog: true, Incarnation: 1},
	}}
	call, server, member, none := s.Aimed(Action{Verb: Cancel, Call: "desk/0/1"}).Aim, s.Aimed(Action{Verb: Restart, Server: "a"}).Aim, s.Aimed(Action{Verb: Restart, Server: "m"}).Aim, Aim("")
	for name, c := range map[string]struct{ got, want bool }{
		"the process":                {server.IsOf(began), true},
		"another process":            {server.IsOf(began.Add(1)), false},
		"the call":                   {call.Began(began.Add(1)), true},
		"another call":               {call.Began(began.Add(2)), false},
		"a call that was not there":  {s.Aimed(Action{Verb: Cancel, Call: "desk/0/2"}).Aim.Began(began), false},
		"the connection":             {server.Has("0.1", 3, true), true},
		"its next attempt":           {server.Has("0.1", 4, false), true},
		"its next success":           {server.Has("0.1", 4, true), false},
		"a name that begins alike":   {server.Has("0.11", 3, false), false},
		"a connection of one client": {server.Has("0.2", 1, true), false},
		"the member":                 {member.Has("1.1", 1, true), true},
		"no aim, process":            {none.IsOf(began), true},
		"no aim, call":               {none.Began(began), true},
		"no aim, connection":         {none.Has("9.9", 1, true), true},
		"not an aim, process":        {Aim("\x00").IsOf(began), false},
		"not an aim, connection":     {Aim("\x00").Has("0.1", 1, true), false},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}
