package tui

import (
	"cmp"
	"strconv"
	"time"

	"goblin-actor/internal/status"
)

// longCall is the age from which a call is highlighted.
const longCall = 30 * time.Second

// callsKind shows the calls in flight and what each is waiting for.
var callsKind = &Kind{
	Name: "calls", Danger: status.Cancel,
	Columns: []Column{{Name: "CLIENT", Sort: 'C'}, {Name: "SERVER", Sort: 'N'}, {Name: "METHOD", Sort: 'M', Wide: true}, {Name: "ITEM", Sort: 'I', Flex: true, URI: true},
		{Name: "STATE", Sort: 'S'}, {Name: "WAITS FOR", Sort: 'W', Flex: true}, {Name: "AGE", Sort: 'A', Right: true}, {Name: "LEFT", Sort: 'L', Right: true}},
	Rows: func(p *Picture) []Row {
		rows := make([]Row, len(p.Calls))
		for i, c := range p.Calls {
			rows[i] = callRow(p, c, i)
		}
		return rows
	},
}

func callRow(p *Picture, c status.Call, i int) Row {
	health, own := callHealth(c, p.Now), ""
	if c.Public != "" {
		own = c.Item
	}
	client := clientName(c.Who, cmp.Or(c.Client, p.client(c.Session), c.Session))
	waits := waitsFor(c, client)
	left := until(c.Deadline, p.Now)
	if c.State == "parked" {
		left.Health = Warn
	}
	return Row{
		ID: cmp.Or(c.ID, strconv.Itoa(i)), Server: c.Server, Session: c.Session, Call: c.ID, Health: health,
		Cells: []Cell{text(client), text(c.Server), text(c.Method), text(cmp.Or(c.Public, c.Item)), colored(c.State, health), text(waits), ago(c.Began, p.Now), left},
		Detail: func() []Field {
			return fields(
				Field{"call", c.ID}, Field{"client", client}, Field{"session", c.Session}, Field{"server", c.Server}, Field{"method", c.Method},
				Field{"item", cmp.Or(c.Public, c.Item)}, Field{"name at the server", own}, Field{"state", c.State}, Field{"waits for", waits}, Field{"began", instant(c.Began)}, Field{"deadline", instant(c.Deadline)},
			)
		},
	}
}

// waitsFor returns what a call is waiting for.
func waitsFor(c status.Call, client string) string {
	switch c.State {
	case "parked":
		return "answer from " + client
	case "queued":
		return "a free slot at " + c.Server
	}
	return c.Server
}

func callHealth(c status.Call, now time.Time) Health {
	switch {
	case c.State == "parked", c.State == "queued", now.Sub(c.Began) > longCall:
		return Warn
	}
	return Good
}
