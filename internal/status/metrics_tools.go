package status

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"goblin-actor/protocol"
)

// Limits of labels for tools. A tool that has a label keeps it, and one without never gets one: counters that moved between labels
// would look like resets. The first tools that are called get the labels. Mostly, these are the tools that are called often.
const (
	maxToolLabels       = 1000
	maxServerToolLabels = 64 // so that one server cannot use up the labels of others
	maxToolLabel        = 128
)

// labels reports whether a tool gets its own label, and counts it. Names with unprintable characters get none: %q writes them
// as escapes that parsers of the text format do not know. The caller must hold mu.
func (s *ServerMetrics) labels(tool string) bool {
	if s.toolLabels >= maxServerToolLabels || len(tool) > maxToolLabel || strings.ContainsFunc(tool, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return false
	}
	if s.all.toolLabels.Add(1) > maxToolLabels {
		s.all.toolLabels.Add(-1)
		return false
	}
	s.toolLabels++
	return true
}

// toolRow is the usage of a labelled tool, or the sum of all others.
type toolRow struct {
	tool string
	ItemUsage
}

// tools returns the rows of a server's tools, sorted by name.
func (s *ServerMetrics) tools() []toolRow {
	rest, _ := s.rest[protocol.Tools].usage(s.name, itemKey{protocol.Tools, RestOfItems})
	var rows []toolRow
	s.mu.RLock()
	for key, c := range s.items {
		u, called := c.usage(s.name, key)
		switch {
		case !called || key.kind != protocol.Tools:
		case c.labelled:
			rows = append(rows, toolRow{key.original, u})
		default:
			rest.Calls, rest.Failed, rest.Refused, rest.Seconds = rest.Calls+u.Calls, rest.Failed+u.Failed, rest.Refused+u.Refused, rest.Seconds+u.Seconds
		}
	}
	s.mu.RUnlock()
	if rest.Calls > 0 {
		rows = append(rows, toolRow{RestOfItems, rest})
	}
	slices.SortFunc(rows, func(a, b toolRow) int { return cmp.Compare(a.tool, b.tool) })
	return rows
}

// writeTools writes the calls of each tool, with its name at the server.
func writeTools(p *page, servers []*ServerMetrics) {
	rows := make([][]toolRow, len(servers))
	for i, s := range servers {
		rows[i] = s.tools()
	}
	p.family("goblin_tool_calls_total")
	for i, s := range servers {
		for _, r := range rows[i] {
			for _, n := range []struct {
				outcome string
				calls   uint64
			}{{"ok", r.Calls - r.Failed}, {"failed", r.Failed - r.Refused}, {"refused", r.Refused}} {
				if n.calls > 0 {
					fmt.Fprintf(p, "goblin_tool_calls_total{server=%q,tool=%q,outcome=%q} %d\n", s.name, r.tool, n.outcome, n.calls)
				}
			}
		}
	}
	p.family("goblin_tool_seconds_total")
	for i, s := range servers {
		for _, r := range rows[i] {
			fmt.Fprintf(p, "goblin_tool_seconds_total{server=%q,tool=%q} %g\n", s.name, r.tool, r.Seconds)
		}
	}
}
