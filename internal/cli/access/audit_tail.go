package access

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"goblin-actor/internal/audit"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/visible"
)

// auditPrinter prints lines of the audit log.
type auditPrinter struct {
	path   string
	filter audit.Filter
	out    io.Writer
	note   io.Writer // receives notes that are not lines of the log
	format output.Format
	p      terminal.Palette
}

// print prints the newest matching lines, oldest first. The parameter last is their maximum number. If follow is set,
// print then prints new lines until ctx ends.
func (t *auditPrinter) print(ctx context.Context, last int, follow bool) error {
	found, end, err := audit.Newest(t.path, t.filter, min(last, math.MaxInt-1)+1) // one more, to detect older lines
	if err != nil && !follow {
		return noAudit(t.path, err)
	}
	if len(found) > last {
		found = found[1:]
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
	return audit.Follow(ctx, t.path, end, t.filter, t.one)
}

// auditHead holds the column headers. With --follow, a column is at least as wide as its header.
var auditHead = []string{"WHEN               ", "WHO         ", "WHAT          ", "SERVER      ", "ITEM                      ", "OUTCOME       ", "TOOK  ", "MORE"}

func auditCells(l *audit.Line) []string {
	what, took := l.Method, ""
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
	return []string{l.Time.Local().Format(time.DateTime), terminal.OneLine(l.Who, 40), terminal.OneLine(what, 40), terminal.OneLine(l.Server, 0), terminal.OneLine(l.Item, output.MaxCell), outcomeOf(l), took,
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
		if _, err := io.WriteString(t.out, strings.TrimRight(strings.Join(auditHead, "  "), " ")+"\n"); err != nil {
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
		rows[i] = auditCells(&found[i].Line)
	}
	return output.PrintTable(t.out, head, rows)
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
	var b strings.Builder
	for i, cell := range auditCells(&e.Line) {
		b.WriteString(terminal.Pad(cell, len(auditHead[i])) + "  ")
	}
	line := strings.TrimRight(b.String(), " ")
	if e.Decision == audit.Deny {
		line = t.p.Bad(line)
	}
	_, err := fmt.Fprintln(t.out, line)
	return err
}
