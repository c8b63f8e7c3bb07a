package tui

import (
	"strconv"
	"strings"

	"goblin-actor/internal/status"
)

// actorsKind shows the actors and their mailboxes.
var actorsKind = &Kind{
	Name: "actors",
	Columns: []Column{{Name: "ACTOR", Sort: 'N'}, {Name: "KIND", Sort: 'K', Wide: true}, {Name: "DEPTH", Sort: 'D', Right: true}, {Name: "HANDLED", Sort: 'H', Right: true},
		{Name: "REFUSED", Sort: 'R', Right: true}, {Name: "PANICS", Sort: 'P', Right: true}, {Name: "RESTARTS", Sort: 'S', Right: true}, {Name: "LAST MESSAGE", Flex: true, Wide: true}},
	Rows: func(p *Picture) []Row {
		rows := make([]Row, len(p.Actors))
		for i, a := range p.Actors {
			rows[i] = actorRow(a)
		}
		return rows
	},
}

func actorRow(a status.Actor) Row {
	health := Plain
	switch {
	case a.Panics > 0:
		health = Bad
	case a.Restarts > 0 || a.Refused > 0:
		health = Warn
	}
	return Row{
		ID: a.Name, Health: health, Server: serverOfActor(a),
		Cells: []Cell{colored(a.Name, health), text(a.Kind), count(a.Depth), count(a.Handled), faults(a.Refused), faults(a.Panics), faults(a.Restarts), text(strings.TrimPrefix(a.Last, "message."))},
		Detail: func() []Field {
			n := func(v uint64) string { return strconv.FormatUint(v, 10) }
			return fields(Field{"actor", a.Name}, Field{"kind", a.Kind}, Field{"messages queued", strconv.Itoa(a.Depth)}, Field{"messages handled", n(a.Handled)},
				Field{"messages refused", n(a.Refused)}, Field{"panics", n(a.Panics)}, Field{"restarts", n(a.Restarts)}, Field{"last message", a.Last})
		},
	}
}

// serverOfActor returns the server in an actor's name (gateway/pool/<server>/backend/…), or "" if there is none.
func serverOfActor(a status.Actor) string {
	rest, ok := strings.CutPrefix(a.Name, "gateway/pool/")
	if !ok {
		return ""
	}
	server, _, _ := strings.Cut(rest, "/")
	return server
}
