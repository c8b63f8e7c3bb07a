package operate

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/status"
)

// Maximum numbers of characters in cells of the table of calls.
const (
	maxClientCell = 32
	maxMethodCell = 40
	maxWhyCell    = 240
)

// callColumns are the columns of the table of calls, with their widths for --follow.
var callColumns = []struct {
	title string
	width int
}{
	{"WHEN", 8}, {"CLIENT", 22}, {"SERVER", 12}, {"METHOD", 14}, {"ITEM", 26}, {"OUTCOME", 11}, {"QUEUE", 7}, {"TOOK", 7}, {"IN", 7}, {"OUT", 7}, {"WHY", 0},
}

func callHead() []string {
	head := make([]string, len(callColumns))
	for i, c := range callColumns {
		head[i] = c.title
	}
	return head
}

// callRows returns the rows of the finished calls and then of the running ones.
func callRows(seen calls, now time.Time) [][]string {
	var rows [][]string
	for _, f := range seen.Finished {
		rows = append(rows, callCells(f))
	}
	for i := range seen.Running {
		rows = append(rows, runningCells(&seen.Running[i], now))
	}
	return rows
}

func callCells(f status.FinishedCall) []string {
	ended := f.Began.Add(time.Duration(f.Seconds * float64(time.Second)))
	why := f.Error
	if f.Code != "" {
		why = strings.TrimSuffix(f.Code+": "+f.Error, ": ")
	}
	return append(commonCells(ended.Local().Format(time.TimeOnly), f.Client, f.Session, f.Who, f.Server, f.Method, cmp.Or(f.Public, f.Item)),
		f.Outcome, queued(f.Began, f.Taken), took(f.Seconds), size(f.In), size(f.Out), terminal.OneLine(why, maxWhyCell))
}

func runningCells(r *status.Call, now time.Time) []string {
	why := r.WaitsFor
	if r.Deadline.After(now) {
		why = strings.TrimPrefix(why+", "+took(r.Deadline.Sub(now).Seconds())+" left", ", ")
	}
	return append(commonCells("now", r.Client, r.Session, r.Who, r.Server, r.Method, cmp.Or(r.Public, r.Item)),
		r.State, queued(r.Began, r.Taken), took(now.Sub(r.Began).Seconds()), size(r.In), "", terminal.OneLine(why, maxWhyCell))
}

// commonCells returns the cells up to ITEM.
func commonCells(when, client, session, who, server, method, item string) []string {
	return []string{when, caller(client, session, who), terminal.OneLine(cmp.Or(server, "-"), 0), terminal.OneLine(method, maxMethodCell), terminal.OneLine(item, output.MaxCell)}
}

// caller returns the name of a call's client, or its session if the client has no name, and the name of its principal.
func caller(client, session, who string) string {
	name := terminal.OneLine(cmp.Or(client, session), maxClientCell)
	if who == "" {
		return name
	}
	return name + " of " + terminal.OneLine(who, maxClientCell)
}

// queued returns how long a call was in the queue, or "" if that was too short to show or is unknown.
func queued(began, taken time.Time) string {
	if d := taken.Sub(began); !taken.IsZero() && d >= time.Millisecond {
		return took(d.Seconds())
	}
	return ""
}

func took(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < time.Second:
		return d.Round(100 * time.Microsecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// size returns a number of bytes with a unit; "" = unknown.
func size(n int64) string {
	switch {
	case n == 0:
		return ""
	case n < 1000:
		return strconv.FormatInt(n, 10) + " B"
	case n < 1000<<10:
		return strconv.FormatFloat(float64(n)/(1<<10), 'f', 1, 64) + " K"
	}
	return strconv.FormatFloat(float64(n)/(1<<20), 'f', 1, 64) + " M"
}
