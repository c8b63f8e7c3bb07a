package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"goblin-actor/internal/status"
)

// backendsKind shows the connections to servers. For one server, it is the first tab of the server's page.
var backendsKind = &Kind{
	Name: "backends", Enter: "calls", Danger: status.Restart, Worst: true, Head: serverHead,
	Columns: []Column{{Name: "BACKEND", Sort: 'N'}, {Name: "FOR", Sort: 'F', Flex: true, Wide: true}, {Name: "STATE", Sort: 'S', Words: true}, {Name: "SINCE", Sort: 'A', Right: true}, {Name: "VIA", Wide: true}, {Name: "SPEAKS", Sort: 'P', Wide: true},
		{Name: "PID", Right: true, Wide: true, Spare: true}, {Name: "RUN", Sort: 'R', Right: true}, {Name: "TRIES", Sort: 'I', Right: true},
		{Name: "NEXT", Right: true, Spare: true}, {Name: "NOISE", Right: true, Wide: true}, {Name: "REASON", Flex: true, Spare: true}},
	Rows: func(p *Picture) []Row {
		rows := make([]Row, len(p.Backends))
		seen := map[string]int{}
		for i, b := range p.Backends {
			name := b.Server + "/" + strconv.Itoa(b.Replica)
			seen[name]++
			if seen[name] > 1 { // another connection of the replica: one that is draining, or one for other clients
				name += "." + strconv.Itoa(seen[name])
			}
			rows[i] = backendRow(p, b, name)
		}
		return rows
	},
}

func backendRow(p *Picture, b status.Backend, name string) Row {
	mark := severityOf(b.State)
	health := mark.health()
	next, pid := Cell{}, Cell{}
	if b.NextAttempt.After(p.Now) {
		next = until(b.NextAttempt, p.Now)
	}
	if b.PID != 0 {
		pid = Cell{Text: strconv.Itoa(b.PID), Number: float64(b.PID)}
	}
	return Row{
		ID: name, Server: b.Server, Health: health, Mark: mark,
		Cells: []Cell{text(name), text(forOf(b)), colored(b.State, health), ago(b.Since, p.Now), text(b.Transport), text(b.Protocol), pid,
			count(b.InFlight), faults(b.Tries), next, faults(b.Noise), colored(causeFirst(b.Reason, b.Tries), health)},
		Detail: func() []Field {
			return fields(
				Field{"server", b.Server}, Field{"replica", strconv.Itoa(b.Replica)}, Field{"carries", forOf(b)}, Field{"state", b.State}, Field{"reason", b.Reason},
				Field{"since", instant(b.Since)}, Field{"next attempt", instant(b.NextAttempt)}, Field{"failed attempts in a row", unlessNone(b.Tries)}, Field{"transport", b.Transport},
				Field{"protocol", b.Protocol}, Field{"pid", pid.Text},
				Field{"connections made", strconv.FormatUint(b.Incarnation, 10)}, Field{"calls running", strconv.Itoa(b.InFlight)},
				Field{"stray output", fmt.Sprintf("%s received instead of messages", plural(b.Noise, "line"))}, Field{"first stray line", b.FirstNoise}, Field{"last stray line", b.LastNoise},
				Field{"stderr", strings.Join(slices.Compact(slices.Clone(b.Stderr)), "\n")},
			)
		},
	}
}

// forOf describes which requests a connection carries, and for which clients.
func forOf(b status.Backend) string {
	if b.Catalog {
		return cmp.Or(b.For, "lists, and every client")
	}
	return b.For
}

func unlessNone(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
