package tui

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"goblin-actor/internal/status"
)

// access holds what is known about users, logins and denials, and about the visible call or actor. Each part is fetched only
// while a view of it is visible.
type access struct {
	Users    status.Users
	Logins   []status.Login
	Denials  []status.Denial
	Nodes    []status.NodeReport
	Records  records               // of the visible actor or call
	Payloads []status.KeptPayloads // of the visible call
}

// fetchAccess queries the part of access that a view of a scope needs. The Picture is the newest one.
type fetchAccess func(ctx context.Context, source status.Source, p *Picture, of scope, a *access) error

// usersKind shows the principals that may use the gateway.
var usersKind = &Kind{
	Name: "users", Worst: true,
	Columns: []Column{{Name: "USER", Sort: 'N'}, {Name: "ROLES", Sort: 'O', Wide: true, Spare: true}, {Name: "SESSIONS", Sort: 'S', Right: true}, {Name: "RUN", Sort: 'R', Right: true, Extra: true},
		{Name: "CALLS/S", Sort: 'C', Right: true}, {Name: "CALLS", Sort: 'T', Right: true, Extra: true}, {Name: "FAILED", Sort: 'F', Right: true, Extra: true}, {Name: "REFUSED/MIN", Sort: 'D', Right: true},
		{Name: "RATE LEFT", Sort: 'L', Right: true, Spare: true}, {Name: "EXPIRES", Sort: 'E', Right: true, Spare: true}, {Name: "LAST", Sort: 'A', Right: true, Wide: true}, {Name: "WHY", Sort: 'W', Flex: true}},
	Rows: func(p *Picture) []Row {
		list := p.Users.Users
		rows := make([]Row, len(list), len(list)+1)
		for i := range list {
			rows[i] = userRow(&list[i], p.Now)
		}
		if left := p.Users.Total - len(list); left > 0 {
			rows = append(rows, Row{ID: "…", Mark: sevIdle, Health: Quiet, Cells: []Cell{text(fmt.Sprintf("%d more", left)), {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, text("idle longer than all others; see /userz?name=")}})
		}
		return rows
	},
	Fetch: func(ctx context.Context, source status.Source, _ *Picture, _ scope, a *access) (err error) {
		a.Users, err = source.Users(ctx, "")
		return err
	},
}

// expiresSoon is how long before its expiry a key is marked.
const expiresSoon = 7 * 24 * time.Hour

func userRow(u *status.User, now time.Time) Row {
	expires := until(u.Expires, now)
	expired := !u.Expires.IsZero() && !now.Before(u.Expires)
	mark := sevIdle
	switch {
	case expired:
		mark, expires = sevFailed, Cell{Text: "expired", Health: Bad}
	case u.Reason != "":
		mark = sevLimited
	case u.Sessions+u.Running > 0 || u.CallsPerSecond > 0:
		mark = sevGood
	}
	if !expired && !u.Expires.IsZero() && u.Expires.Sub(now) < expiresSoon {
		expires.Health = Warn
	}
	rate := none()
	if u.RateOf >= 0 {
		rate = Cell{Text: fmt.Sprintf("%d of %d", u.RateLeft, u.RateOf), Number: float64(u.RateLeft)}
		if u.RateLeft == 0 {
			rate.Health = Warn
		}
	}
	why, burst := whyRefused(u, now), ""
	if u.RateOf >= 0 {
		burst = rate.Text + " requests at once"
	}
	return Row{
		ID: userID(u), Health: mark.health(), Mark: mark,
		Cells: []Cell{text(u.Name), text(strings.Join(u.Roles, ",")), count(u.Sessions), count(u.Running), rateCell(u.CallsPerSecond), count(u.Calls), faults(u.Failed), faults(u.RefusedLastMinute),
			rate, expires, ago(u.Last, now), colored(why, mark.health())},
		Detail: func() []Field {
			return fields(
				Field{"user", u.Name}, Field{"is", kindOfUser(u)}, Field{"roles", strings.Join(u.Roles, ", ")}, Field{"why", why}, Field{"sessions", strconv.Itoa(u.Sessions)}, Field{"streams", strconv.Itoa(u.Streams)}, Field{"calls running", strconv.Itoa(u.Running)},
				Field{"calls since the start", fmt.Sprintf("%d, %d failed", u.Calls, u.Failed)}, Field{"refused since the start", strconv.FormatUint(u.Refused, 10)}, Field{"refused in the last minute", strconv.Itoa(u.RefusedLastMinute)},
				Field{"rate", burst}, Field{"key expires", instant(u.Expires)}, Field{"last call or refusal", instant(u.Last)},
			)
		},
	}
}

// userID identifies the row of a user. A key may be named local, too.
func userID(u *status.User) string {
	if u.Local {
		return " " + u.Name
	}
	return u.Name
}

// kindOfUser returns what the user local stands for, or "".
func kindOfUser(u *status.User) string {
	if u.Local {
		return "all clients that are not authenticated"
	}
	return ""
}

// whyRefused returns why a user's requests are refused and, after one second, for how long they have been refused.
func whyRefused(u *status.User, now time.Time) string {
	if since := now.Sub(u.RefusedSince); !u.RefusedSince.IsZero() && since >= time.Second {
		return u.Reason + " for " + span(since)
	}
	return u.Reason
}

// rateCell returns a cell with a rate. Rates below 10 have one decimal.
func rateCell(rate float64) Cell {
	c := Cell{Text: strconv.FormatFloat(rate, 'f', 0, 64), Number: rate}
	if rate > 0 && rate < 10 {
		c.Text = strconv.FormatFloat(rate, 'f', 1, 64)
	}
	return c
}
