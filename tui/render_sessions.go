package tui

import (
	"strconv"
	"strings"
	"time"

	"goblin-actor/internal/status"
)

// recently is the time before now in which a session's finished calls are counted.
const recently = 10 * time.Minute

// sessionsKind shows the sessions of clients, and the subscription streams of clients without sessions.
var sessionsKind = &Kind{
	Name: "sessions", Enter: "calls", Danger: status.End, Worst: true,
	Columns: []Column{{Name: "SESSION", Sort: 'N'}, {Name: "CLIENT", Sort: 'C', Flex: true}, {Name: "WHO", Sort: 'U', Spare: true}, {Name: "PROJECT", Sort: 'J', Wide: true, Spare: true}, {Name: "SPEAKS", Sort: 'P', Wide: true}, {Name: "VIA", Sort: 'V', Wide: true},
		{Name: "10 MIN", Sort: 'T', Right: true}, {Name: "FAILED", Sort: 'F', Right: true}, {Name: "RUN", Sort: 'R', Right: true}, {Name: "PARKED", Sort: 'K', Right: true}, {Name: "SUBS", Sort: 'W', Right: true},
		{Name: "UNSENT", Sort: 'B', Right: true, Spare: true, Bytes: true}, {Name: "AGE", Sort: 'A', Right: true}, {Name: "QUIET", Sort: 'Q', Right: true}, {Name: "WHY", Spare: true}},
	Rows: func(p *Picture) []Row {
		rows := make([]Row, len(p.Sessions))
		seen := map[string]int{}
		uses := usesOf(p)
		for i, s := range p.Sessions {
			id := s.ID
			if seen[s.ID]++; seen[s.ID] > 1 { // the ids of two sessions may begin with the same characters
				id += "." + strconv.Itoa(seen[s.ID])
			}
			rows[i] = sessionRow(p, s, id, uses[s.ID])
		}
		return rows
	},
}

// use counts what a session does.
type use struct{ finished, failed, parked, subscriptions int }

func usesOf(p *Picture) map[string]use {
	uses := map[string]use{}
	change := func(session string, f func(*use)) {
		u := uses[session]
		f(&u)
		uses[session] = u
	}
	for i := range p.Finished {
		if c := &p.Finished[i]; p.Now.Sub(endOf(c)) < recently {
			change(c.Session, func(u *use) {
				u.finished++
				if c.Failed() {
					u.failed++
				}
			})
		}
	}
	for i := range p.Calls {
		if p.Calls[i].State == "parked" {
			change(p.Calls[i].Session, func(u *use) { u.parked++ })
		}
	}
	for i := range p.Subscriptions {
		change(p.Subscriptions[i].Session, func(u *use) { u.subscriptions++ })
	}
	return uses
}

func sessionRow(p *Picture, s status.Session, id string, u use) Row {
	mark := sevGood
	switch {
	case u.parked > 0, s.Dropped > 0 && s.Unsent > 0:
		mark = sevLimited
	case s.InFlight == 0 && s.Streams == 0:
		mark = sevIdle
	}
	parked, failed := count(u.parked), count(u.failed)
	if u.parked > 0 {
		parked.Health = Warn
	}
	if u.failed > 0 {
		failed.Health = Warn
	}
	unsent, why := Cell{}, Cell{}
	if s.Unsent > 0 {
		unsent = bytesCell(int64(s.Unsent))
	}
	if s.Dropped > 0 {
		why = colored(strconv.FormatUint(s.Dropped, 10)+" dropped", Warn)
	}
	return Row{
		ID: id, Session: s.ID, Project: s.Project, Health: mark.health(), Mark: mark,
		Cells: []Cell{text(id), text(s.Client), text(s.Who), text(s.Project), text(s.Protocol), text(s.Transport), count(u.finished), failed, count(s.InFlight), parked, count(u.subscriptions),
			unsent, ago(s.Since, p.Now), ago(s.LastSeen, p.Now), why},
		Detail: func() []Field {
			return fields(
				Field{"session", sessionField(s.ID)}, Field{"client", s.Client}, Field{"principal", s.Who}, Field{"project", s.Project}, Field{"protocol", s.Protocol},
				Field{"transport", s.Transport}, Field{"since", instant(s.Since)}, Field{"last request", instant(s.LastSeen)},
				Field{"calls running", strconv.Itoa(s.InFlight)}, Field{"calls in the last ten minutes", strconv.Itoa(u.finished) + ", " + strconv.Itoa(u.failed) + " failed"},
				Field{"streams open", strconv.Itoa(s.Streams)}, Field{"subscriptions", strconv.Itoa(u.subscriptions)},
				Field{"unsent", unlessZero(int64(s.Unsent))}, Field{"dropped", dropped(s.Dropped)},
			)
		},
	}
}

// sessionField explains the id of a session.
func sessionField(id string) string {
	if strings.HasPrefix(id, "listen/") {
		return id + " (a subscription stream: clients of this protocol version have no session)"
	}
	return id + " (the first characters; the full id is secret)"
}

// dropped explains why messages were dropped. It returns "" if none were.
func dropped(n uint64) string {
	if n == 0 {
		return ""
	}
	return plural(int(n), "log or progress message") + ", because the client reads too slowly"
}
