package tui

import (
	"cmp"
	"context"
	"strings"
	"time"

	"goblin-actor/internal/status"
)

// callKind is the page of one call: where its time went, its details, and its payloads and recorded messages if there are any. enter on a
// call opens it.
var callKind = &Kind{
	Name:   "call",
	Head:   callHead,
	Panels: []*Kind{detailsKind, payloadsKind, callMessagesKind},
	Fetch: func(ctx context.Context, source status.Source, p *Picture, of scope, a *access) (err error) {
		id := callID(p, of.call)
		if id == "" { // no longer known, or it did not become a call
			a.Records, a.Payloads = records{}, nil
			return nil
		}
		if a.Payloads, err = payloads(ctx, source, p, of, id, a.Payloads); err != nil {
			return err
		}
		a.Records, err = a.Records.with(ctx, source, status.RecordQuery{Call: id})
		return err
	},
}

// detailsKind is the panel of a call's page with the call's details.
var detailsKind = &Kind{
	Name:    "call",
	Columns: []Column{{Name: "WHAT"}, {Name: "VALUE", Flex: true}},
	RowsOf: func(p *Picture, of scope) []Row {
		var rows []Row
		for _, f := range callDetails(p, of.call) {
			rows = append(rows, Row{ID: f.Name, Server: of.server, Copy: f.Text, Cells: []Cell{text(f.Name), text(strings.ReplaceAll(f.Text, "\n", " "))},
				Detail: func() []Field { return []Field{f} }})
		}
		return rows
	},
}

// findCall returns the call with a key, in flight or finished.
func findCall(p *Picture, key string) (*status.Call, *status.FinishedCall) {
	for i := range p.Calls {
		if c := &p.Calls[i]; callKey(c.Session, cmp.Or(c.Public, c.Item), c.Began) == key {
			return c, nil
		}
	}
	for _, all := range [][]status.FinishedCall{p.Finished, p.Failures} {
		for i := len(all) - 1; i >= 0; i-- {
			if c := &all[i]; callKey(c.Session, cmp.Or(c.Public, c.Item), c.Began) == key {
				return nil, c
			}
		}
	}
	return nil, nil
}

func callDetails(p *Picture, key string) []Field {
	switch running, finished := findCall(p, key); {
	case running != nil:
		return callFields(p, *running)
	case finished != nil:
		return finishedFields(finished)
	}
	return []Field{{"call", callItem(key)}, {"state", "no longer kept"}}
}

// phase is a part of a call's time.
type phase struct {
	name string
	from time.Time
	to   time.Time
	note string
}

// callHead returns what the call is, a bar for each part of its time, and the line of recordingLine.
func callHead(p *Picture, of scope) []line {
	running, finished := findCall(p, of.call)
	var first line
	var all []phase
	var began time.Time
	end := p.Now
	switch {
	case running != nil:
		began = running.Began
		first.add(Warn, "◐ ")
		first.add(Plain, running.Method+" ")
		first.title(cmp.Or(running.Public, running.Item))
		first.add(callHealth(*running, p.Now), "  "+stateName(*running)+" for "+short(end.Sub(began)))
		if done := doneOf(*running); done != "" {
			first.add(Plain, ", "+done+" done")
		}
		first.hint("  " + waitsFor(*running))
		all = phases(unsent(running.State), began, running.Taken, running.Written, running.Asked, time.Time{}, end)
	case finished != nil:
		began, end = finished.Began, endOf(finished)
		mark := markOf(finished)
		first.add(mark.health(), glyphs[mark]+" ")
		first.add(Plain, finished.Method+" ")
		first.title(cmp.Or(finished.Public, finished.Item))
		first.add(mark.health(), "  "+outcomeOf(finished)+" "+short(end.Sub(began)))
		first.hint("  " + ofClient(finished.Who, finished.Client) + "  →  " + strings.Trim(finished.Server+"/"+finished.Backend, "/"))
		all = phases(unsent(finished.Outcome), began, finished.Taken, finished.Written, finished.Asked, finished.Answered, end)
	default:
		first.add(Quiet, "○ "+callItem(of.call)+" is no longer kept")
		return []line{first}
	}
	out := []line{first}
	for _, ph := range all {
		out = append(out, ph.bar(began, end))
	}
	return append(out, recordingLine(p, of)...)
}

// unsent names the phase of a call that reached no server, by its state or outcome.
func unsent(state string) string {
	if strings.HasPrefix(strings.ToLower(state), "queue") {
		return "queue"
	}
	return "gateway"
}

// phases splits the time of a call by its stamps. A missing stamp joins two phases. unsent names the time of a call without stamps.
func phases(unsent string, began, taken, written, asked, answered, end time.Time) []phase {
	var all []phase
	at := began
	add := func(name string, to time.Time, note string) {
		if to.IsZero() || to.Before(at) {
			return
		}
		all = append(all, phase{name, at, to, note})
		at = to
	}
	add("queue", taken, "")
	add("write", written, "")
	note := ""
	if !asked.IsZero() {
		note = "first request to the call's client after " + short(asked.Sub(began))
	}
	switch {
	case !answered.IsZero():
		add("server", answered, note)
		add("answer", end, "")
	case !written.IsZero():
		add("server", end, note)
	case !taken.IsZero():
		add("write", end, note)
	default:
		add(unsent, end, note)
	}
	return all
}

// barWidth is the width of the bar of a whole call, in columns.
const barWidth = 60

// bar draws a phase in proportion to the call's time.
func (ph phase) bar(began, end time.Time) line {
	var l line
	l.hint(padded(ph.name, 8))
	whole := max(end.Sub(began), 1)
	before, length := share(ph.from.Sub(began), whole), share(ph.to.Sub(ph.from), whole)
	full, rest := length/8, length%8
	bar := strings.Repeat("█", full)
	if rest > 0 || full == 0 {
		bar += string([]rune("▏▏▎▍▌▋▊▉")[rest])
	}
	before = min(before/8, barWidth-width(bar))
	l.add(Good, strings.Repeat(" ", max(0, before))+bar)
	l.add(Plain, strings.Repeat(" ", max(1, barWidth+1-before-width(bar)))+short(ph.to.Sub(ph.from)))
	if ph.note != "" {
		l.hint("  " + ph.note)
	}
	return l
}

// share returns a part of the bar's width in eighths of a column.
func share(part, whole time.Duration) int {
	return int(min(1, float64(max(0, part))/float64(whole)) * barWidth * 8) // stamps of a clock that was set may lie outside the call
}

// padded returns a text with spaces up to a width.
func padded(s string, n int) string { return s + strings.Repeat(" ", max(0, n-width(s))) }
