package tui

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"goblin-actor/internal/status"
)

// logsKind shows the gateway's log, newest last.
var logsKind = &Kind{
	Name: "logs", Tail: true,
	Columns: []Column{{Name: "TIME"}, {Name: "LEVEL", Sort: 'L'}, {Name: "SERVER", Sort: 'S'}, {Name: "WHAT", Flex: true}},
	Same: func(a, b *Picture) bool {
		return len(a.Events) == len(b.Events) && (len(a.Events) == 0 || a.Events[len(a.Events)-1].Number == b.Events[len(b.Events)-1].Number)
	},
	Rows: func(p *Picture) []Row {
		rows := make([]Row, len(p.Events))
		for i, e := range p.Events {
			rows[i] = logRow(e)
		}
		return rows
	},
}

func logRow(e status.Event) Row {
	health := Plain
	switch {
	case strings.HasPrefix(e.Level, "ERROR"):
		health = Bad
	case strings.HasPrefix(e.Level, "WARN"):
		health = Warn
	case strings.HasPrefix(e.Level, "DEBUG"):
		health = Quiet
	}
	return Row{
		ID: strconv.FormatUint(e.Number, 10), Server: e.Server, Health: health,
		Cells: []Cell{{Text: e.Time.Local().Format("15:04:05.000"), Number: float64(e.Number)}, colored(e.Level, health), text(e.Server), colored(strings.TrimSpace(e.Message+"  "+e.Fields), health)},
		Detail: func() []Field {
			return fields(Field{"time", e.Time.Local().Format(time.RFC3339Nano)}, Field{"level", e.Level}, Field{"server", e.Server},
				Field{"message", cmp.Or(e.Message, "(empty)")}, Field{"fields", e.Fields})
		},
	}
}
