package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"goblin-actor/internal/status"
)

// actorsKind shows the actors and their mailboxes as a tree. More than maxBranches siblings of one kind are folded.
var actorsKind = &Kind{
	Name: "actors", Enter: "actor",
	Columns: []Column{{Name: "ACTOR", Sort: 'N'}, {Name: "KIND", Sort: 'K', Wide: true}, {Name: "DEPTH", Sort: 'D', Right: true}, {Name: "MSG/S", Sort: 'M', Right: true}, {Name: "HANDLED", Sort: 'H', Right: true, Wide: true},
		{Name: "REFUSED", Sort: 'R', Right: true}, {Name: "PANICS", Sort: 'P', Right: true}, {Name: "RESTARTS", Sort: 'S', Right: true}, {Name: "RECORDING", Sort: 'T', Spare: true}, {Name: "LAST MESSAGE", Flex: true, Wide: true}},
	Rows: actorRows,
}

// actorNode is an actor with those below it.
type actorNode struct {
	actor status.Actor
	path  string // name of the actor; "" = the root, which is not an actor
	below []*actorNode
}

// actorRows arranges the actors by their names: gateway/pool/files is below gateway/pool, or else below gateway.
func actorRows(p *Picture) []Row {
	all := slices.SortedFunc(slices.Values(p.Actors), func(a, b status.Actor) int {
		return slices.Compare(strings.Split(a.Name, "/"), strings.Split(b.Name, "/"))
	})
	root := &actorNode{}
	path := []*actorNode{root}
	for _, a := range all {
		for len(path) > 1 && !strings.HasPrefix(a.Name, path[len(path)-1].path+"/") {
			path = path[:len(path)-1]
		}
		up := path[len(path)-1]
		n := &actorNode{actor: a, path: a.Name}
		up.below = append(up.below, n)
		path = append(path, n)
	}
	return root.rows(p, nil, "", 0)
}

// rows appends the rows below an actor.
func (n *actorNode) rows(p *Picture, rows []Row, lines string, depth int) []Row {
	kinds := map[string]int{}
	for _, b := range n.below {
		kinds[b.actor.Kind]++
	}
	summed := map[string]bool{}
	for i, b := range n.below {
		last := i == len(n.below)-1
		in, level := lines, depth
		if kind := b.actor.Kind; kinds[kind] > maxBranches {
			last = !slices.ContainsFunc(n.below[i+1:], func(o *actorNode) bool { return o.actor.Kind != kind })
			if !summed[kind] {
				summed[kind] = true
				rows = append(rows, n.sum(p, kind, joint(lines, last, depth), depth))
			}
			in, level = beneath(lines, last, depth), depth+1
			last = !slices.ContainsFunc(n.below[i+1:], func(o *actorNode) bool { return o.actor.Kind == kind })
		}
		r := actorRow(b.actor, p.messages.rate(b.actor.Name), p.Now)
		name := strings.TrimPrefix(b.path, n.path+"/")
		r.Branch = Branch{Depth: level, Group: len(b.below) > 0, Text: joint(in, last, level) + plain(name)}
		rows = append(rows, r)
		rows = b.rows(p, rows, beneath(in, last, level), level+1)
	}
	return rows
}

// joint returns the lines in front of a row of a tree.
func joint(lines string, last bool, depth int) string {
	switch {
	case depth == 0:
		return ""
	case last:
		return lines + "└─ "
	}
	return lines + "├─ "
}

// beneath returns the lines in front of the rows below a row of a tree.
func beneath(lines string, last bool, depth int) string {
	switch {
	case depth == 0:
		return ""
	case last:
		return lines + "   "
	}
	return lines + "│  "
}

// sum returns the row that stands for all actors of a kind directly below n.
func (n *actorNode) sum(p *Picture, kind, lines string, depth int) Row {
	var total status.Actor
	times, messages := 0, 0.
	for _, b := range n.below {
		if a := b.actor; a.Kind == kind {
			times++
			messages += max(0, p.messages.rate(a.Name))
			total.Depth += a.Depth
			total.Handled += a.Handled
			total.Refused += a.Refused
			total.Panics += a.Panics
			total.Restarts += a.Restarts
			total.Recorded = later(total.Recorded, a.Recorded)
		}
	}
	total.Name, total.Kind = n.path+"/"+kind+" (sum)", kind
	r := actorRow(total, messages, p.Now)
	r.Branch = Branch{Depth: depth, Group: true, Closed: true, Sum: true, Text: fmt.Sprintf("%s%s ×%d", lines, plain(kind), times)}
	return r
}

// actorRow returns the row of an actor. messages is how many messages it handles a second; -1 = unknown.
func actorRow(a status.Actor, messages float64, now time.Time) Row {
	mark := actorSeverity(&a)
	perSecond := none()
	if messages >= 0 {
		perSecond = Cell{Text: rate(messages), Number: messages}
	}
	name := text(a.Name)
	if mark != sevGood {
		name.Health = mark.health()
	}
	return Row{
		ID: a.Name, Health: mark.health(), Mark: mark, Server: serverOfActor(a),
		Cells: []Cell{name, text(a.Kind), count(a.Depth), perSecond, count(a.Handled), faults(a.Refused), faults(a.Panics), faults(a.Restarts), recordingCell(a.Recorded, now), text(strings.TrimPrefix(a.Last, "message."))},
		Detail: func() []Field {
			n := func(v uint64) string { return strconv.FormatUint(v, 10) }
			return fields(Field{"actor", a.Name}, Field{"kind", a.Kind}, Field{"messages queued", strconv.Itoa(a.Depth)}, Field{"messages handled", n(a.Handled)},
				Field{"messages refused", n(a.Refused)}, Field{"panics", n(a.Panics)}, Field{"restarts", n(a.Restarts)}, Field{"last message", a.Last}, Field{"messages", recording(a.Recorded, now)})
		},
	}
}

func actorSeverity(a *status.Actor) Severity {
	switch {
	case a.Panics > 0:
		return sevFailed
	case a.Restarts > 0 || a.Refused > 0:
		return sevLimited
	}
	return sevGood
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
