package access

import (
	"context"
	"fmt"
	"time"

	"goblin-actor/internal/audit"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/serving"
	"goblin-actor/internal/status"
)

const (
	askNodes    = 2 * time.Second // between two looks for nodes that have joined
	maxNodeLogs = 256             // nodes with other names are not followed
)

// nodeLogs finds the logs of the nodes of a cluster.
type nodeLogs struct {
	source status.Source
	path   string // of the admin socket
	filter audit.Filter
	known  map[string]bool // names of the nodes whose logs are open
	asked  time.Time       // when the gateway last listed the nodes
}

// current returns all logs, in the order in which they were opened. Every askNodes it looks for nodes that have joined the cluster.
func (t *auditPrinter) current(ctx context.Context) []audit.Source {
	if t.nodes == nil || time.Since(t.nodes.asked) < askNodes {
		return t.logs
	}
	t.nodes.asked = time.Now()
	if nodes, err := t.nodes.source.Nodes(ctx); err == nil { // otherwise the logs report that the gateway does not answer
		t.addNodes(ctx, nodes)
	}
	return t.logs
}

// addNodes opens the logs of the nodes that answer. A note says when a log cannot be read later, and when it can be read again.
func (t *auditPrinter) addNodes(ctx context.Context, nodes []status.NodeReport) {
	for i := range nodes {
		n := &nodes[i]
		if n.Fault != "" || t.nodes.known[n.Name] || len(t.logs) >= maxNodeLogs {
			continue
		}
		t.nodes.known[n.Name] = true
		name := n.Name
		if n.Self {
			name = ""
		}
		log := serving.RemoteAuditLog(ctx, t.nodes.path, n.Name, name, t.nodes.filter)
		shown := terminal.OneLine(n.Name, 40)
		log.Changed = func(err error) {
			switch {
			case ctx.Err() != nil:
			case err != nil:
				fmt.Fprintf(t.note, "the log of node %s cannot be read; its new lines follow when it can: %s\n", shown, terminal.OneLine(err.Error(), 200))
			default:
				fmt.Fprintf(t.note, "the log of node %s can be read again\n", shown)
			}
		}
		t.logs, t.paths = append(t.logs, log), append(t.paths, "of node "+n.Name)
	}
}

func (t *auditPrinter) close() {
	for _, log := range t.logs {
		log.Close()
	}
}
