package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"goblin-actor/internal/status"
)

// overviewKind is the first view: the servers, worst first; the last failed calls; the log's warnings; the calls in flight
// that have waited longest; and the requests that were refused lately.
var overviewKind = &Kind{
	Name:   "overview",
	Head:   overviewHead,
	Panels: []*Kind{healthKind, failuresKind, warningsKind, waitsKind, refusedKind},
	Fetch:  denialsKind.Fetch,
}

// healthKind is the overview's panel of servers, with the gateway's own problems on top.
var healthKind = &Kind{
	Name: "servers", Title: "worst first", Enter: "backends", Danger: status.Restart, Worst: true,
	Columns: []Column{{Name: "SERVER", Sort: 'N'}, {Name: "STATE", Sort: 'S', Words: true}, {Name: "CALLS/S", Sort: 'C', Right: true}, {Name: "ERR", Sort: 'E', Right: true},
		{Name: "P95", Sort: 'P', Right: true, Wide: true}, {Name: "RUN", Sort: 'R', Right: true}, {Name: "QUEUE", Sort: 'Q', Right: true}, {Name: "WHY", Flex: true}},
	Rows: func(p *Picture) []Row {
		rows := gatewayFaults(p)
		for i := range p.Servers {
			s := &p.Servers[i]
			r := serverBase(p, s)
			r.Cells = slices.Concat([]Cell{text(s.Name), colored(stateText(p, s), r.Health)}, rateCells(p, s.Name), []Cell{count(s.InFlight), faults(s.Queued), whyCell(p, s, r.Health)})
			rows = append(rows, r)
		}
		return rows
	},
	More: func(rest []Row) string {
		counts := map[string]int{}
		for _, r := range rest {
			state, _, _ := strings.Cut(r.Cells[1].Text, " ")
			counts[state]++
		}
		return fmt.Sprintf("%d more: %s", len(rest), tally(counts))
	},
}

// gatewayFaults returns rows for problems of the gateway itself, which the operator must fix.
func gatewayFaults(p *Picture) []Row {
	var rows []Row
	add := func(id, state, why string, detail ...Field) {
		rows = append(rows, Row{ID: "gateway/" + id, Goto: "logs", Mark: sevAct, Health: Bad, Detail: func() []Field { return fields(detail...) },
			Cells: []Cell{text(id), colored(state, Bad), {}, {}, {}, {}, {}, colored(why, Bad)}})
	}
	if f := p.ConfigFault; f != nil {
		add("configuration", "rejected "+brief(p.Now.Sub(f.Since)), f.Reason, Field{"configuration", p.Config}, Field{"rejected since", instant(f.Since)}, Field{"reason", f.Reason})
	}
	if a := p.Audit; a != nil && (a.Fault != "" || a.Refusing) {
		state := "fails"
		if a.Refusing {
			state = "refuses calls"
		}
		add("audit log", state, a.Fault, Field{"audit log", a.File}, Field{"reason", a.Fault}, Field{"records dropped", fmt.Sprint(a.Dropped)})
	}
	return rows
}

// failuresKind is the overview's panel of the calls that failed last.
var failuresKind = &Kind{
	Name: "last failures", Enter: "call", Bare: true,
	Columns: []Column{{Name: "WHEN"}, {Name: "SERVER", Words: true}, {Name: "ITEM", Flex: true, URI: true}, {Name: "OUTCOME", Words: true}, {Name: "TOTAL", Right: true, Wide: true}, {Name: "ERROR", Flex: true, Min: 75}},
	Same:    func(a, b *Picture) bool { return lastNumber(a.Failures) == lastNumber(b.Failures) },
	Rows:    failureRows,
}

// failureRows returns the failed calls, newest first, without those that clients canceled. Equal ones are one row.
func failureRows(p *Picture) []Row {
	var rows []Row
	times := map[string]int{} // by what they have in common
	at := map[string]int{}    // index in rows
	for i := len(p.Failures) - 1; i >= 0; i-- {
		c := p.Failures[i]
		if markOf(&c) != sevFailed {
			continue
		}
		same := fmt.Sprintf("%s\n%s\n%s\n%s", c.Server, cmp.Or(c.Public, c.Item), outcomeOf(&c), c.Error)
		if times[same]++; times[same] > 1 {
			continue
		}
		r := finishedRow(c)
		r.Mark = sevNone // all of them failed
		r.Cells = []Cell{clock(endOf(&c)), text(cmp.Or(c.Server, "–")), text(cmp.Or(c.Public, c.Item)), colored(outcomeOf(&c), Bad), took(time.Duration(c.Seconds * 1e9)), text(c.Error)}
		at[same] = len(rows)
		rows = append(rows, r)
	}
	for same, n := range times {
		if n > 1 {
			rows[at[same]].Cells[3].Text += fmt.Sprintf(" ×%d", n)
		}
	}
	return rows
}

// warningsKind is the overview's panel of warnings and errors in the log. Equal ones are one row.
var warningsKind = &Kind{
	Name: "log: warnings", Enter: "logs", Bare: true,
	Columns: []Column{{Name: "TIME"}, {Name: "SERVER", Words: true}, {Name: "WHAT", Flex: true}},
	Same:    func(a, b *Picture) bool { return lastEvent(a.Events) == lastEvent(b.Events) },
	Rows: func(p *Picture) []Row {
		var rows []Row
		times := map[string]int{} // by id
		at := map[string]int{}    // index in rows
		for i := len(p.Events) - 1; i >= 0; i-- {
			e := &p.Events[i]
			if rank, _ := rankOf(e.Level); rank < rankWarn {
				continue
			}
			what := warningText(e)
			id := e.Server + " " + what
			if times[id]++; times[id] == 1 {
				r := logRow(e, id, 1)
				at[id] = len(rows)
				r.Goto = "logs"
				r.Cells = []Cell{{Text: e.Time.Local().Format(time.TimeOnly)}, text(e.Server), colored(what, r.Health)}
				rows = append(rows, r)
			}
		}
		for id, n := range times {
			if n > 1 {
				cell := &rows[at[id]].Cells[2]
				cell.Text = plain(fmt.Sprintf("×%d %s", n, cell.Text))
			}
		}
		return rows
	},
}

// warningText returns the reason of a log line if it has one, otherwise its message and fields.
func warningText(e *status.Event) string {
	if _, reason, ok := strings.Cut(e.Fields, "reason="); ok && reason != "" {
		reason, _, _ = strings.Cut(reason, " nextAttempt=") // differs from line to line
		return causeFirst(reason, 0)
	}
	return strings.TrimSpace(e.Message + "  " + e.Fields)
}

// minWait is the age from which a call in flight is listed in the overview.
const minWait = time.Second

// waitsKind is the overview's panel of the calls that have waited longest.
var waitsKind = &Kind{
	Name: "waits longest", Enter: "call", Danger: status.Cancel, Bare: true,
	Columns: []Column{{Name: "AGE", Right: true}, {Name: "SERVER", Words: true}, {Name: "ITEM", URI: true}, {Name: "WHY", Flex: true}},
	Rows: func(p *Picture) []Row {
		var rows []Row
		for _, c := range longestFirst(p.Calls) {
			if p.Now.Sub(c.Began) < minWait {
				break
			}
			r := callRow(p, c)
			why := "for " + ofClient(c.Who, clientOf(p, c)) + ": " + waitsFor(c)
			if done := doneOf(c); done != "" {
				why += ", " + done + " done"
			}
			if c.State == "parked" && !c.Deadline.IsZero() {
				why += "; withdrawn in " + span(c.Deadline.Sub(p.Now))
			}
			r.Mark = sevNone
			health := Plain
			if r.Health == Warn {
				health = Warn
			}
			r.Cells = []Cell{ago(c.Began, p.Now), text(c.Server), text(cmp.Or(c.Public, c.Item)), colored(why, health)}
			rows = append(rows, r)
		}
		return rows
	},
}

// refusedTime is how long a refused request is listed in the overview.
const refusedTime = 10 * time.Minute

// refusedKind is the overview's panel of the requests that were refused lately, the newest first.
var refusedKind = &Kind{
	Name: "turned away", Enter: "denials", Bare: true,
	Columns: []Column{{Name: "AGE", Right: true}, {Name: "WHO", Words: true}, {Name: "FROM"}, {Name: "WHAT", URI: true}, {Name: "WHY", Flex: true}},
	Rows: func(p *Picture) []Row {
		var rows []Row
		for i := range p.Denials {
			d := &p.Denials[i]
			if p.Now.Sub(d.Last) > refusedTime {
				continue
			}
			r := denialRow(p, d)
			why := colored(d.Why, r.Health)
			if d.Times > 1 {
				why.Text += fmt.Sprintf(" ×%d", d.Times)
			}
			r.Mark = sevNone
			r.Cells = []Cell{ago(d.Last, p.Now), text(d.Who), text(d.From), r.Cells[3], why}
			rows = append(rows, r)
		}
		return rows
	},
}

// brief formats a duration with one unit: 7s, 6m, 3h, 2d.
func brief(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// tally formats counts by name, for example "3 ready, 1 waiting".
func tally(counts map[string]int) string {
	var parts []string
	for what, n := range counts {
		parts = append(parts, fmt.Sprintf("%d %s", n, what))
	}
	slices.SortFunc(parts, func(a, b string) int {
		return strings.Compare(strings.TrimLeft(a, "0123456789"), strings.TrimLeft(b, "0123456789"))
	})
	return strings.Join(parts, ", ")
}
