package access

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"goblin-actor/internal/admin"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/visible"
)

// auditPrinter prints lines of audit logs.
type auditPrinter struct {
	logs    []audit.Source
	paths   []string  // of logs, for errors
	several bool      // there are several logs: each row names its node
	nodes   *nodeLogs // finds the logs of nodes that join later; nil = the logs are files
	out     io.Writer
	note    io.Writer // receives notes that are not lines of the log
	format  output.Format
	p       terminal.Palette
}

// auditLogs says which logs to print.
type auditLogs struct {
	files   []string
	config  string // the configuration that names the log if there are no files; "" = the usual one
	nodes   bool   // those of all nodes of the cluster instead
	connect string // the gateway that asks the nodes; "" = the only one on this machine
}

// check returns an error if the flags contradict each other. last is the number of lines.
func (l *auditLogs) check(last int) error {
	switch {
	case last < 1:
		return command.UsageError("pass 1 or more", "-n %d: too few lines", last)
	case l.connect != "" && !l.nodes:
		return command.UsageError("pass --nodes --connect 8730, or leave out --connect", "--connect requires --nodes")
	case l.nodes && len(l.files) > 0:
		return command.UsageError("pass --nodes alone, or the files of the nodes", "--nodes reads the logs of running nodes, not files")
	}
	return nil
}

// open finds the logs to print.
func (t *auditPrinter) open(ctx context.Context, from auditLogs, f audit.Filter) error {
	if from.nodes {
		return t.openNodes(ctx, from.connect, f)
	}
	named := from.files
	if len(named) == 0 {
		path, err := auditPath("", from.config)
		if err != nil {
			return err
		}
		named = []string{path}
	}
	t.paths = currentPaths(named)
	for _, path := range t.paths {
		t.logs = append(t.logs, audit.NewLogFiles(path, path, f))
	}
	t.several = len(t.logs) > 1
	return nil
}

// openNodes finds the logs of all nodes of a cluster. It prints a note for each node that does not answer.
func (t *auditPrinter) openNodes(ctx context.Context, connect string, f audit.Filter) error {
	path, err := target.AdminSocket(connect, os.Getenv)
	if err != nil {
		return err
	}
	source, err := admin.Dial(path)
	if err != nil {
		return err
	}
	nodes, err := source.Nodes(ctx)
	if err != nil {
		return target.Unreachable(err)
	}
	if len(nodes) == 0 {
		return command.UsageError("leave out --nodes", "this gateway is not a node of a cluster")
	}
	t.several, t.nodes = true, &nodeLogs{source: source, path: path, filter: f, known: map[string]bool{}, asked: time.Now()}
	for _, n := range nodes {
		if n.Fault != "" {
			fmt.Fprintf(t.note, "node %s is missing: %s\n", terminal.OneLine(n.Name, 40), terminal.OneLine(n.Fault, 200))
		}
	}
	t.addNodes(ctx, nodes)
	return nil
}

// currentPaths returns each path once. It leaves out the older files of a log whose newest file is named too, because they
// are read with it.
func currentPaths(named []string) (paths []string) {
	for _, path := range named {
		if current := audit.CurrentPath(path); slices.Contains(paths, path) || current != path && slices.Contains(named, current) {
			continue
		}
		paths = append(paths, path)
	}
	return paths
}

// print prints the newest matching lines, oldest first. The parameter last is their maximum number. If follow is set,
// print then prints new lines until ctx ends.
func (t *auditPrinter) print(ctx context.Context, last int, follow bool) error {
	newest := make([][]audit.Entry, len(t.logs))
	defer t.close()
	for i, log := range t.logs {
		var err error
		newest[i], err = log.Newest(min(last, math.MaxInt-1) + 1) // one more, to detect older lines
		if err != nil && !follow {
			return noAudit(t.paths[i], err)
		}
	}
	found := audit.Merge(newest)
	if len(found) > last {
		found = found[len(found)-last:]
		if !follow {
			defer fmt.Fprintln(t.note, "older lines match too; -n N prints more")
		}
	}
	switch {
	case t.format != output.Table:
		for _, e := range found {
			if err := t.one(e); err != nil {
				return err
			}
		}
	case len(found) > 0 || follow:
		if err := t.all(found, follow); err != nil {
			return err
		}
	default:
		_, err := io.WriteString(t.out, "no matching lines\n")
		return err
	}
	if !follow {
		return nil
	}
	return audit.Follow(ctx, func() []audit.Source { return t.current(ctx) }, t.one)
}

// auditHead holds the column headers. With --follow, a column is at least as wide as its header.
var auditHead = []string{"WHEN               ", "NODE        ", "WHO         ", "WHAT          ", "SERVER      ", "ITEM                      ", "OUTCOME       ", "TOOK  ", "MORE"}

// nodeColumn is the index of the column of the node.
const nodeColumn = 1

// cells returns the cells of a row. The cell of the node is empty if there is only one log.
func (t *auditPrinter) cells(l *audit.Entry) []string {
	what, took, node := l.Method, "", ""
	if t.several {
		node = terminal.OneLine(cmp.Or(l.Node, l.Log), 40)
	}
	if l.Event != audit.EventCall {
		if what = l.Event; l.Method != "" {
			what += " " + l.Method
		}
	} else if l.Millis > 0 {
		took = time.Duration(l.Millis * float64(time.Millisecond)).Round(10 * time.Microsecond).String()
	}
	var more []string
	for _, part := range []struct{ key, value string }{{"project", l.Project}, {"run on", l.Run}, {"rule", l.Rule}, {"from", elsewhere(l.Peer)}, {"", l.Detail}} {
		switch {
		case part.value == "":
		case part.key == "":
			more = append(more, part.value)
		default:
			more = append(more, part.key+" "+part.value)
		}
	}
	if l.Count > 0 {
		more = append(more, fmt.Sprintf("count %d", l.Count))
	}
	if quoted, ok := l.Quoted(); ok {
		more = append(more, fmt.Sprintf("node %s had line n=%d of %s", quoted.Node, quoted.N, quoted.Time.Local().Format(time.TimeOnly)))
	}
	return []string{l.Time.Local().Format(time.DateTime), node, terminal.OneLine(l.Who, 40), terminal.OneLine(what, 40), terminal.OneLine(l.Server, 0), terminal.OneLine(l.Item, output.MaxCell), outcomeOf(&l.Line), took,
		terminal.OneLine(strings.Join(more, "; "), 200)}
}

// outcomeOf returns the outcome of a line, or "denied" for a denial without an outcome.
func outcomeOf(l *audit.Line) string {
	if l.Decision == audit.Deny && l.Outcome == "" {
		return "denied"
	}
	return terminal.OneLine(l.Outcome, 40)
}

// elsewhere returns peer if it is the address of a client on another machine, otherwise "".
func elsewhere(peer string) string {
	switch peer {
	case "stdio", "127.0.0.1", "[::1]", "::1":
		return ""
	}
	return peer
}

// all prints the entries in found as a table. The columns fit their cells. If follow is set, they are at least as wide
// as their headers in auditHead.
func (t *auditPrinter) all(found []audit.Entry, follow bool) error {
	if follow {
		if _, err := io.WriteString(t.out, t.row(auditHead)+"\n"); err != nil {
			return err
		}
		for _, e := range found {
			if err := t.one(e); err != nil {
				return err
			}
		}
		return nil
	}
	head := make([]string, len(auditHead))
	for i, title := range auditHead {
		head[i] = strings.TrimSpace(title)
	}
	rows := make([][]string, len(found))
	for i := range found {
		rows[i] = t.cells(&found[i])
	}
	return output.PrintTable(t.out, head, rows)
}

// row returns a row of the table with the column widths of auditHead. It has no column of the node if there is only one log.
func (t *auditPrinter) row(cells []string) string {
	var b strings.Builder
	for i, cell := range cells {
		if i != nodeColumn || t.several {
			b.WriteString(terminal.Pad(cell, len(auditHead[i])) + "  ")
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// one prints an entry in the output format. In a row of the table, each column is at least as wide as in auditHead.
func (t *auditPrinter) one(e audit.Entry) error {
	switch t.format {
	case output.JSON:
		_, err := fmt.Fprintln(t.out, visible.JSON(string(e.Raw)))
		return err
	case output.YAML:
		if _, err := io.WriteString(t.out, "---\n"); err != nil {
			return err
		}
		return t.format.Write(t.out, e.Raw)
	}
	line := t.row(t.cells(&e))
	if e.Decision == audit.Deny {
		line = t.p.Bad(line)
	}
	_, err := fmt.Fprintln(t.out, line)
	return err
}
