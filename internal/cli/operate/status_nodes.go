package operate

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/status"
)

// printNodes prints a line for each node of the cluster, and then their warnings.
func printNodes(b *strings.Builder, nodes []status.NodeReport, now time.Time, p terminal.Palette) {
	if len(nodes) == 0 {
		return
	}
	b.WriteByte('\n')
	rows := make([][]string, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		name := terminal.OneLine(n.Name, 40)
		if n.Self {
			name += " (this)"
		}
		rows[i] = []string{name, string(n.State), "", "", "", "", terminal.OneLine(n.Version, 20), ""}
		if n.Fault == "" {
			copy(rows[i][2:], []string{now.Sub(n.Started).Round(time.Second).String(), fmt.Sprintf("%d/%d", n.Ready, n.Servers), strconv.Itoa(n.Sessions), strconv.Itoa(n.Calls)})
		}
		if n.Fault != "" && !n.LastBeat.IsZero() {
			rows[i][7] = max(0, now.Sub(n.LastBeat)).Round(time.Second).String() + " ago"
		}
	}
	output.RenderTable(b, p, []string{"NODE", "STATE", "UP", "READY", "SESSIONS", "CALLS", "VERSION", "HEARD"}, rows)
	for i := range nodes {
		n := &nodes[i]
		name := terminal.OneLine(n.Name, 40) + ": "
		if n.Fault != "" && n.IsMember() {
			paragraph(b, name, "does not answer: "+terminal.OneLine(n.Fault, 300), p.Bad)
		}
		for _, warning := range n.Warnings {
			paragraph(b, name, terminal.OneLine(warning, 400), p.Warn)
		}
	}
}
