package tui

import (
	"cmp"
	"fmt"
	"slices"
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
	Wide  bool // omitted in tables narrower than 100 columns, unless all columns are shown
	Min   int  // omitted in tables narrower than this
	URI   bool // shortened in the middle if it is too long
	Words bool // a filter for this column matches whole words only, because "ok" is also a part of "token"
	Extra bool // shown only with all columns
	Spare bool // omitted if no visible row has a text in it
	Bytes bool // numbers are sizes, so that the m of a filter such as out>1m is a mebibyte instead of a minute
}

// Cell is one value. Its text is safe to display, because one of the functions below created it.
type Cell struct {
	Text   string
	Number float64 // sort key of a numeric column
	Health Health
	Trend  bool // show ↑ or ↓ after Number has changed

	wide uint16 // width of Text + 1; 0 = not computed yet
}

// Row is one row of a view.
type Row struct {
	ID      string // identifies the row across Pictures
	Title   string // names the row for the user; "" = ID
	Cells   []Cell
	Health  Health
	Mark    Severity
	Server  string  // the row's server; "" = none
	Session string  // the row's session; "" = none
	Whose   *string // the owner of the row's login; nil = the row is not a login
	Project string  // the row's project; "" = none
	Off     string  // the server's name for a disabled tool; "" = the row is not one
	Call    string  // status.Call.ID if the row is a call
	Copy    string  // what c copies, if it differs from ID
	Goto    string  // name of the kind that enter opens, if it differs from Kind.Enter
	Rank    int     // of a log line: its level, see levels
	Extra   bool    // shown only with all columns
	Detail  func() []Field
	Branch  Branch

	folded string // see foldedText; "" = not computed yet
}

// title returns the row's name in titles.
func (r *Row) title() string { return plain(cmp.Or(r.Title, r.ID)) }

// Branch is the place of a row in a tree. Rows of a tree are in depth-first order.
type Branch struct {
	Depth  int
	Text   string // what the tree shows instead of the first cell, with the lines in front of it; "" = the cell
	Group  bool   // enter folds and unfolds the rows below
	Closed bool   // folded until the user unfolds it
	Sum    bool   // the sum of the rows below; not shown in a flat list
}

// Field is a named text in the side panel. Text may have several lines and may contain anything.
type Field struct{ Name, Text string }

// Kind defines what a view shows. Its functions are pure, except Fetch.
type Kind struct {
	Name    string
	Title   string                            // text after the number of rows
	TitleOf func(p *Picture, of scope) string // replaces Title and the scope if it returns a text; nil = none
	Columns []Column
	Rows    func(p *Picture) []Row
	RowsOf  func(p *Picture, of scope) []Row  // replaces Rows if the rows depend on the view's scope
	Head    func(p *Picture, of scope) []line // lines above the table; nil = none
	Panels  []*Kind                           // the view consists of these panels; the kind has no rows of its own
	Same    func(a, b *Picture) bool          // reports that both Pictures have equal rows; nil = compute the rows of every Picture
	Enter   string                            // name of the kind that enter opens for the row; "" = the side panel
	Danger  status.Verb                       // the action of ctrl-d on a row; "" = none
	Tail    bool                              // new rows are appended, and the view follows the end
	Worst   bool                              // rows are listed by their severity, worst first
	Levels  bool                              // rows have a Rank, which the view can filter
	Usage   bool                              // rows need Picture.Usage
	Fetch   fetchAccess                       // fetches what the rows need of Picture.access; nil = nothing
	Bare    bool                              // a panel without column headers
	More    func(rest []Row) string           // a panel's last line if rows do not fit; nil = none
}

// rows returns the rows of a kind in a scope.
func (k *Kind) rows(p *Picture, of scope) []Row {
	switch {
	case k.RowsOf != nil:
		return k.RowsOf(p, of)
	case k.Rows != nil:
		return k.Rows(p)
	}
	return nil
}

// kinds lists the views that have a name in the prompt, in their display order.
var kinds = []*Kind{overviewKind, serversKind, backendsKind, sessionsKind, callsKind, toolsKind, promptsKind, resourcesKind,
	templatesKind, subscriptionsKind, actorsKind, logsKind, metricsKind, projectsKind, usersKind, loginsKind, denialsKind, nodesKind}

// pages lists the kinds that only enter opens.
var pages = []*Kind{callKind, actorKind}

// allKinds returns the kinds that have rows: views, pages, and the panels of a call's page and of the overview (except its
// first panel, whose name is that of the servers view).
func allKinds() []*Kind {
	return slices.DeleteFunc(slices.Concat(overviewKind.Panels[1:], kinds, callKind.Panels, pages), func(k *Kind) bool { return k.Panels != nil })
}

func kindOf(name string) *Kind {
	for _, k := range slices.Concat(kinds, pages) {
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

// short formats a duration of a call: 40µs, 0.4ms, 12ms, 3.1s.
func short(d time.Duration) string {
	switch {
	case d < 100*time.Microsecond:
		return strconv.FormatInt(max(0, d.Microseconds()), 10) + "µs"
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(max(0, d.Seconds()*1000), 'f', 1, 64) + "ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	}
	return span(d)
}

// between returns a cell with the time from one stamp to another. It is a dash if one of them is missing.
func between(from, to time.Time) Cell {
	if from.IsZero() || to.IsZero() {
		return none()
	}
	return took(to.Sub(from))
}

func took(d time.Duration) Cell { return Cell{Text: short(d), Number: d.Seconds()} }

// none returns a cell for a value that does not apply.
func none() Cell { return Cell{Text: "–", Health: Quiet, Number: -1} }

// bytesCell returns a cell with a number of bytes, or a dash if it is not positive.
func bytesCell(n int64) Cell {
	if n <= 0 {
		return none()
	}
	return Cell{Text: briefSize(n), Number: float64(n)}
}

// briefSize formats a number of bytes in few columns: 412 B, 1.2K, 38M.
func briefSize(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n)/1024, 0
	for f >= 1000 && unit < 3 {
		f, unit = f/1024, unit+1
	}
	if f < 10 {
		return fmt.Sprintf("%.1f%c", f, "KMGT"[unit])
	}
	return fmt.Sprintf("%.0f%c", f, "KMGT"[unit])
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
