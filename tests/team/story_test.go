package team

import (
	"fmt"

	"goblin-actor/internal/gatetest"
)

// chapter is something that the audit log has to tell, at least so many times.
type chapter struct {
	what  string
	times int64
	is    func(l line) bool
}

// call returns what is true of the lines of calls.
func call(who, item string, outcome ...string) func(l line) bool {
	return func(l line) bool {
		return l.Event == "call" && l.Who == "key:"+who && l.Item == item && (l.Outcome == "ok") == (len(outcome) == 0) && (len(outcome) == 0 || outcome[0] == "" || outcome[0] == l.Outcome)
	}
}

// story waits until the audit log tells what has happened; a line may be on its way for a second.
func (p *place) story(echoes int64) {
	p.t.Helper()
	chapters := []chapter{
		{"the gateway started", 1, func(l line) bool { return l.Event == "start" }},
		{"the operator logged in at the hosted server", 1, func(l line) bool { return l.Event == "login" && l.Server == "hosted" }},
		{"a key that counts no more was turned away", 1, func(l line) bool { return l.Event == "denied" && l.Outcome == "UNAUTHENTICATED" && l.Who == "" }},
		{"ada added a note", 1, call("ada", "add_note")},
		{"ben was not permitted to", 1, call("ben", "add_note", "POLICY_DENIED")},
		{"ben tried ada's session", 1, func(l line) bool {
			return l.Event == "denied" && l.Who == "key:ben" && l.Outcome == "SESSION_OF_ANOTHER"
		}},
		{"the slow call ended well", 1, call("ada", "slow")},
		{"the key of ben was revoked", 1, func(l line) bool { return l.Event == "key" && l.Who == "key:ben" }},
		{"the calls of ben ended with his key", 8, call("ben", "wait", "")},
		{"each answered call of ada's was one", echoes, call("ada", "echo")},
	}
	gatetest.WaitFor(p.t, "the audit log to tell all", func() (bool, string) {
		lines := p.told()
		for _, c := range chapters {
			n := int64(0)
			for _, l := range lines {
				if c.is(l) {
					n++
				}
			}
			if n < c.times {
				return false, fmt.Sprintf("%s: %d times, want %d", c.what, n, c.times)
			}
		}
		return true, ""
	})
	for _, l := range p.told("--who", "ben", "--tool", "add_*") {
		if got := fmt.Sprint(l.Who, " ", l.Server, " ", l.Item); got != "key:ben notes add_note" {
			p.t.Errorf("audit tail --who ben --tool 'add_*' shows %s", got)
		}
	}
}
