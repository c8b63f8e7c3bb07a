package team

import (
	"fmt"

	"goblin-actor/internal/gatetest"
)

// chapter is an event that the audit log must contain, at least a given number of times.
type chapter struct {
	what  string
	times int64
	is    func(l line) bool
}

// call returns a function that matches the audit lines of a user's calls of an item. Without outcome it matches successful calls, otherwise calls
// that failed with that outcome. The outcome "" stands for any failure.
func call(who, item string, outcome ...string) func(l line) bool {
	return func(l line) bool {
		return l.Event == "call" && l.Who == "key:"+who && l.Item == item && (l.Outcome == "ok") == (len(outcome) == 0) && (len(outcome) == 0 || outcome[0] == "" || outcome[0] == l.Outcome)
	}
}

// story waits until the audit log contains all events. Lines are written within a second.
func (p *place) story(echoes int64) {
	p.t.Helper()
	chapters := []chapter{
		{"the gateway started", 1, func(l line) bool { return l.Event == "start" }},
		{"the operator logged in to the hosted server", 1, func(l line) bool { return l.Event == "login" && l.Server == "hosted" }},
		{"a revoked key was refused", 1, func(l line) bool { return l.Event == "denied" && l.Outcome == "UNAUTHENTICATED" && l.Who == "" }},
		{"ada added a note", 1, call("ada", "add_note")},
		{"ben was not permitted to add a note", 1, call("ben", "add_note", "POLICY_DENIED")},
		{"ben tried ada's session", 1, func(l line) bool {
			return l.Event == "denied" && l.Who == "key:ben" && l.Outcome == "SESSION_OF_ANOTHER"
		}},
		{"the slow call succeeded", 1, call("ada", "slow")},
		{"the key of ben was revoked", 1, func(l line) bool { return l.Event == "key" && l.Who == "key:ben" }},
		{"ben's calls ended when the key was revoked", 8, call("ben", "wait", "")},
		{"each of ada's answered calls", echoes, call("ada", "echo")},
	}
	gatetest.WaitFor(p.t, "the audit log to contain all events", func() (bool, string) {
		lines := p.auditLog()
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
	for _, l := range p.auditLog("--who", "ben", "--tool", "add_*") {
		if got := fmt.Sprint(l.Who, " ", l.Server, " ", l.Item); got != "key:ben notes add_note" {
			p.t.Errorf("audit tail --who ben --tool 'add_*' shows %s", got)
		}
	}
}
