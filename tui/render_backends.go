package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"goblin-actor/internal/status"
)

// backendsKind shows the connections to servers.
var backendsKind = &Kind{
	Name: "backends", Enter: "calls", Danger: status.Restart,
	Columns: []Column{{Name: "BACKEND", Sort: 'N'}, {Name: "STATE", Sort: 'S'}, {Name: "SINCE", Sort: 'A', Right: true}, {Name: "VIA", Wide: true}, {Name: "PROTOCOL", Sort: 'P', Wide: true},
		{Name: "PID", Right: true, Wide: true}, {Name: "RUN", Sort: 'R', Right: true}, {Name: "TRIES", Sort: 'I', Right: true},
		{Name: "STRAY", Right: true, Wide: true}, {Name: "NEXT", Right: true}, {Name: "REASON", Flex: true}},
	Rows: func(p *Picture) []Row {
		rows := make([]Row, len(p.Backends))
		seen := map[string]int{}
		for i, b := range p.Backends {
			name := b.Server + "/" + strconv.Itoa(b.Replica)
			seen[name]++
			if seen[name] > 1 { // for example, the connection is draining while its successor works, or it serves other clients
				name += "." + strconv.Itoa(seen[name])
			}
			rows[i] = backendRow(p, b, name)
		}
		return rows
	},
}

func backendRow(p *Picture, b status.Backend, name string) Row {
	health := healthOf(b.State)
	next, pid := Cell{}, Cell{}
	if b.NextAttempt.After(p.Now) {
		next = until(b.NextAttempt, p.Now)
	}
	if b.PID != 0 {
		pid = Cell{Text: strconv.Itoa(b.PID), Number: float64(b.PID)}
	}
	return Row{
		ID: name, Server: b.Server, Health: health,
		Cells: []Cell{text(name), colored(b.State, health), ago(b.Since, p.Now), text(b.Transport), text(b.Protocol), pid,
			count(b.InFlight), count(b.Incarnation), faults(b.Noise), next, colored(b.Reason, health)},
		Detail: func() []Field {
			return fields(
				Field{"server", b.Server}, Field{"replica", strconv.Itoa(b.Replica)}, Field{"state", b.State}, Field{"reason", b.Reason},
				Field{"since", instant(b.Since)}, Field{"next attempt", instant(b.NextAttempt)}, Field{"transport", b.Transport},
				Field{"protocol", b.Protocol}, Field{"pid", pid.Text},
				Field{"connections made", strconv.FormatUint(b.Incarnation, 10)}, Field{"calls running", strconv.Itoa(b.InFlight)},
				Field{"stray output", fmt.Sprintf("%s on stdout that were not messages", plural(b.Noise, "line"))},
				Field{"stderr", strings.Join(slices.Compact(slices.Clone(b.Stderr)), "\n")},
			)
		},
	}
}
