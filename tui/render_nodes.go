package tui

import (
	"context"
	"fmt"
	"strings"
	"time"

	"goblin-actor/internal/status"
)

// nodesKind shows the nodes of the cluster.
var nodesKind = &Kind{
	Name: "nodes", Worst: true,
	Columns: []Column{{Name: "NODE", Sort: 'N'}, {Name: "STATE", Sort: 'S'}, {Name: "READY", Sort: 'R', Right: true}, {Name: "SESSIONS", Sort: 'E', Right: true}, {Name: "CALLS", Sort: 'C', Right: true},
		{Name: "UP", Sort: 'U', Right: true}, {Name: "HEARD", Sort: 'A', Right: true, Wide: true}, {Name: "VERSION", Sort: 'V', Wide: true}, {Name: "ADDRESS", Wide: true}, {Name: "WHY", Sort: 'W', Flex: true}},
	Rows: func(p *Picture) []Row {
		rows := make([]Row, len(p.access.Nodes))
		for i := range p.access.Nodes {
			rows[i] = nodeRow(&p.access.Nodes[i], p.Now)
		}
		return rows
	},
	Fetch: func(ctx context.Context, source status.Source, _ *Picture, _ scope, a *access) (err error) {
		a.Nodes, err = source.Nodes(ctx)
		return err
	},
}

func nodeRow(n *status.NodeReport, now time.Time) Row {
	mark := nodeSeverity(n)
	ready, sessions, calls, up := none(), none(), none(), none()
	if n.Fault == "" {
		ready = Cell{Text: fmt.Sprintf("%d/%d", n.Ready, n.Servers), Number: float64(n.Ready)}
		sessions, calls, up = count(n.Sessions), count(n.Calls), ago(n.Started, now)
	}
	name, why, open := n.Name, n.Fault, "goblin-actor tui --node "+n.Name
	if n.Self {
		name, open = name+" (this)", ""
	}
	if why == "" && len(n.Warnings) > 0 {
		why = n.Warnings[0]
	}
	return Row{
		ID: n.Incarnation, Title: n.Name, Copy: n.Name, Health: mark.health(), Mark: mark,
		Cells: []Cell{text(name), text(string(n.State)), ready, sessions, calls, up, ago(n.LastBeat, now), text(n.Version), text(n.Address), colored(why, mark.health())},
		Detail: func() []Field {
			return fields(Field{"node", n.Name}, Field{"state", string(n.State)}, Field{"warnings", strings.Join(n.Warnings, "\n")}, Field{"does not answer", n.Fault}, Field{"open it", open},
				Field{"address", n.Address}, Field{"incarnation", n.Incarnation}, Field{"version", n.Version}, Field{"started", instant(n.Started)}, Field{"last heard", instant(n.LastBeat)})
		},
	}
}

func nodeSeverity(n *status.NodeReport) Severity {
	switch {
	case n.State == status.NodeOutside:
		return sevAct
	case n.State == status.NodeGone:
		return sevFailed
	case n.State == status.NodeJoining, n.State == status.NodeDraining:
		return sevBusy
	case n.Fault != "" || len(n.Warnings) > 0:
		return sevLimited
	}
	return sevGood
}
