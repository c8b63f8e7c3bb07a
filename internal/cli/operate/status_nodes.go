package operate

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"goblin-actor/internal/admin"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/status"
)

// nodeTime limits how long status waits for the other nodes of a cluster. It asks all of them at the same time.
const nodeTime = time.Second

// nodeReport is a node of the cluster, and what it says about itself.
type nodeReport struct {
	status.Node
	Started  time.Time `json:"started,omitzero"`
	Ready    int       `json:"ready"` // servers that are ready
	Servers  int       `json:"servers"`
	Sessions int       `json:"sessions"`
	Calls    int       `json:"calls"`           // in flight
	Fault    string    `json:"fault,omitempty"` // why the node was not asked or did not answer; then the counts are 0
}

// fetchNodes asks the other nodes of the gateway's cluster, through the gateway at the socket. It returns nil if the gateway runs
// alone, or if the snapshot is already that of another node.
func fetchNodes(ctx context.Context, path string, s *status.Snapshot) []nodeReport {
	if _, node := admin.SplitAddress(path); node != "" || len(s.Nodes) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, nodeTime)
	defer cancel()
	list := make([]nodeReport, len(s.Nodes))
	var all sync.WaitGroup
	for i, n := range s.Nodes {
		list[i].Node = n
		switch {
		case n.Self:
			list[i].add(s)
		case !n.IsMember():
			list[i].Fault = "not a member"
		default:
			all.Go(func() { list[i].fetch(ctx, path) })
		}
	}
	all.Wait()
	return list
}

func (r *nodeReport) fetch(ctx context.Context, path string) {
	s, err := admin.Fetch(ctx, admin.AddressOf(path, r.Name))
	if err != nil {
		r.Fault = err.Error()
		return
	}
	r.add(s)
}

func (r *nodeReport) add(s *status.Snapshot) {
	r.Started, r.Servers, r.Sessions, r.Calls = s.Started, len(s.Servers), len(s.Sessions), len(s.Calls)
	for i := range s.Servers {
		if s.Servers[i].ReadyCount > 0 {
			r.Ready++
		}
	}
}

// printNodes prints a line for each node of the cluster, and then their warnings.
func printNodes(b *strings.Builder, nodes []nodeReport, now time.Time, p terminal.Palette) {
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
