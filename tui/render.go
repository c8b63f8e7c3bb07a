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
	Sort  rune // shift+letter orders by it; 0 = it cannot be ordered by
	Right bool // numbers stand at the right
	Flex  bool // takes the room that is left
	Wide  bool // left out on screens narrower than 100 columns
	URI   bool // when it is too long, its middle is left out
}

// Cell is one value. Text is harmless: made by one of the functions below.
type Cell struct {
	Text   string
	Health Health
	Number float64 // order of the column, when it is not by text
	Trend  bool    // show ↑ or ↓ when Number has changed
}

// Row is one thing of a kind.
type Row struct {
	ID      string // stays the same as long as it is the same thing
	Cells   []Cell
	Health  Health
	Server  string // the server it belongs to; "" = none
	Session string // likewise
	Call    string // status.Call.ID when it is a call
	Goto    string // kind that enter leads to, when it is not the same for every row
	Detail  func() []Field
}

// Field is a named text of the side panel; Text may have several lines and need not be harmless.
type Field struct{ Name, Text string }

// Kind is what a view can show. Its functions are pure.
type Kind struct {
	Name    string
	Columns []Column
	Rows    func(p *Picture) []Row
	Same    func(a, b *Picture) bool // nil = rows are made anew for every Picture
	Enter   string                   // kind that enter leads to, narrowed to the row's server; "" = the side panel
	Danger  status.Verb              // what ctrl-d does to a row; "" = nothing
	Tail    bool                     // new rows come at the end, and one looks at the end
}

// kinds in the order of the contract.
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

// count is a number that people watch.
func count[N int | uint64](n N) Cell {
	return Cell{Text: strconv.FormatUint(uint64(max(n, 0)), 10), Number: float64(n), Trend: true}
}

// faults is a number that should be 0.
func faults[N int | uint64](n N) Cell {
	c := count(n)
	if n > 0 {
		c.Health = Warn
	}
	return c
}

// ago is how long ago t was.
func ago(t, now time.Time) Cell {
	if t.IsZero() {
		return Cell{}
	}
	d := now.Sub(t)
	return Cell{Text: span(d), Number: d.Seconds()}
}

// until is how long it is to t; empty when there is no t.
func until(t, now time.Time) Cell {
	if t.IsZero() {
		return Cell{Number: -1}
	}
	d := t.Sub(now)
	return Cell{Text: span(d), Number: d.Seconds()}
}

// healthOf is what the state of a server or a backend says (architecture: phases of a backend).
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

// fields leaves out what is empty.
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
