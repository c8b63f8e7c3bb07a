package tui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"goblin-actor/internal/status"
)

// Column is one column of a kind.
type Column struct {
	Name  string
	Sort  rune // shift+letter sorts by this column; 0 = not sortable
	Right bool // right-aligned, for numbers
	Flex  bool // shares the width that the other columns leave
	Wide  bool // omitted on screens narrower than 100 columns
	URI   bool // shortened in the middle if it is too long
}

// Cell is one value. Its text is safe to display, because one of the functions below created it.
type Cell struct {
	Text   string
	Health Health
	Number float64 // sort key of a numeric column
	Trend  bool    // show ↑ or ↓ after Number has changed
}

// Row is one row of a view.
type Row struct {
	ID      string // identifies the row across Pictures
	Cells   []Cell
	Health  Health
	Server  string // the row's server; "" = none
	Session string // the row's session; "" = none
	Call    string // status.Call.ID if the row is a call
	Goto    string // name of the kind that enter opens, if it differs from Kind.Enter
	Detail  func() []Field
}

// Field is a named text in the side panel. Text may have several lines and may contain anything.
type Field struct{ Name, Text string }

// Kind defines what a view shows. Its functions are pure.
type Kind struct {
	Name    string
	Columns []Column
	Rows    func(p *Picture) []Row
	Same    func(a, b *Picture) bool // reports that both Pictures have equal rows; nil = compute the rows of every Picture
	Enter   string                   // name of the kind that enter opens for the row; "" = the side panel
	Danger  status.Verb              // the action of ctrl-d on a row; "" = none
	Tail    bool                     // new rows are appended, and the view follows the end
}

// kinds lists all views in their display order.
var kinds = []*Kind{overviewKind, serversKind, backendsKind, sessionsKind, callsKind, toolsKind, promptsKind, resourcesKind,
	templatesKind, subscriptionsKind, actorsKind, logsKind, metricsKind}

func kindOf(name string) *Kind {
	for _, k := range kinds {
		if k.Name == name {
			return k
		}
	}
	return nil
}

func text(s string) Cell { return Cell{Text: plain(s)} }

func colored(s string, h Health) Cell { return Cell{Text: plain(s), Health: h} }

// count returns a cell with a number. If the number changes, an arrow marks it.
func count[N int | uint64](n N) Cell {
	return Cell{Text: strconv.FormatUint(uint64(max(n, 0)), 10), Number: float64(n), Trend: true}
}

// faults returns a cell with a number that should be 0. A greater number is shown as a warning.
func faults[N int | uint64](n N) Cell {
	c := count(n)
	if n > 0 {
		c.Health = Warn
	}
	return c
}

// ago returns a cell with the time passed since t. It is empty if t is zero.
func ago(t, now time.Time) Cell {
	if t.IsZero() {
		return Cell{}
	}
	d := now.Sub(t)
	return Cell{Text: span(d), Number: d.Seconds()}
}

// until returns a cell with the time left until t. It is empty if t is zero.
func until(t, now time.Time) Cell {
	if t.IsZero() {
		return Cell{Number: -1}
	}
	d := t.Sub(now)
	return Cell{Text: span(d), Number: d.Seconds()}
}

// healthOf maps the state of a server or a backend to a Health (docs/actors.md: phases of a backend).
func healthOf(state string) Health {
	switch state {
	case "ready":
		return Good
	case "waiting", "needs-login", "misconfigured", "stopped":
		return Bad
	case "connecting", "handshaking", "syncing", "draining":
		return Warn
	}
	return Quiet // disabled, idle
}

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime)
}

// fields returns the fields that are not empty.
func fields(all ...Field) []Field {
	var out []Field
	for _, f := range all {
		if strings.TrimSpace(f.Text) != "" {
			out = append(out, f)
		}
	}
	return out
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
