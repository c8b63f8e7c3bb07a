package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"goblin-actor/internal/status"
)

// longCall is the age from which a call is highlighted.
const longCall = 30 * time.Second

// callsKind shows the calls in flight, longest first, then the finished calls, newest first.
var callsKind = &Kind{
	Name: "calls", Enter: "call", Danger: status.Cancel,
	Columns: []Column{{Name: "WHEN", Sort: 'A', Right: true}, {Name: "CLIENT", Sort: 'C'}, {Name: "WHO", Sort: 'U', Wide: true, Spare: true}, {Name: "SERVER", Sort: 'N', Words: true}, {Name: "ITEM", Sort: 'I', Flex: true, URI: true},
		{Name: "OUTCOME", Sort: 'S', Flex: true, Words: true}, {Name: "QUEUE", Sort: 'Q', Right: true, Wide: true}, {Name: "REPLY", Sort: 'W', Right: true, Wide: true}, {Name: "TOTAL", Sort: 'T', Right: true},
		{Name: "IN", Sort: 'B', Right: true, Wide: true, Bytes: true}, {Name: "OUT", Sort: 'O', Right: true, Wide: true, Bytes: true}, {Name: "LEFT", Sort: 'L', Right: true, Spare: true},
		{Name: "RECORDING", Sort: 'G', Wide: true, Spare: true}},
	Rows: callRows,
}

func callRows(p *Picture) []Row {
	rows := make([]Row, 0, len(p.Calls)+len(p.Finished))
	for _, c := range longestFirst(p.Calls) {
		rows = append(rows, callRow(p, c))
	}
	for i := len(p.ended) - 1; i >= 0; i-- {
		rows = append(rows, p.ended[i])
	}
	return rows
}

// longestFirst returns the calls in flight in the order in which they began.
func longestFirst(calls []status.Call) []status.Call {
	return slices.SortedStableFunc(slices.Values(calls), func(a, b status.Call) int { return a.Began.Compare(b.Began) })
}

// callKey identifies a call while it runs and after it has ended.
func callKey(session, item string, began time.Time) string {
	return fmt.Sprintf("%s %d %s", session, began.UnixNano(), item)
}

// callItem returns the name of the item in a callKey.
func callItem(key string) string {
	parts := strings.SplitN(key, " ", 3)
	return plain(parts[len(parts)-1])
}

func callRow(p *Picture, c status.Call) Row {
	health := callHealth(c, p.Now)
	left := until(c.Deadline, p.Now)
	if c.State == "parked" {
		left.Health = Warn
	}
	queue, server := none(), none()
	if !c.Taken.IsZero() {
		queue = between(c.Began, c.Taken)
	} else if c.State == "queued" {
		queue = between(c.Began, p.Now)
	}
	if !c.Written.IsZero() {
		server = between(c.Written, p.Now)
	}
	age := ago(c.Began, p.Now)
	return Row{
		ID: callKey(c.Session, cmp.Or(c.Public, c.Item), c.Began), Server: c.Server, Session: c.Session, Title: cmp.Or(c.Public, c.Item), Call: c.ID, Health: health, Mark: sevBusy, Copy: c.ID,
		Cells: []Cell{age, text(clientOf(p, c)), text(c.Who), text(c.Server), text(cmp.Or(c.Public, c.Item)), colored(stateOf(c), health), queue, server, took(p.Now.Sub(c.Began)),
			bytesCell(c.In), none(), left, recordingCell(recordedUntil(p, c.Server), p.Now)},
		Detail: func() []Field { return callFields(p, c) },
	}
}

// clientOf returns the name of the client of a call, or its session.
func clientOf(p *Picture, c status.Call) string {
	if c.Client != "" {
		return c.Client
	}
	return cmp.Or(p.client(c.Session), c.Session)
}

// ofClient names a client and its principal: "agent 2.1 of ci".
func ofClient(who, client string) string {
	if who == "" || client == "" {
		return client + who
	}
	return client + " of " + who
}

// stateOf returns what a call in flight is doing, and how much of it is done.
func stateOf(c status.Call) string {
	if done := doneOf(c); done != "" {
		return stateName(c) + ", " + done
	}
	return stateName(c)
}

func stateName(c status.Call) string {
	if c.State == "written" {
		return "running"
	}
	return c.State
}

// doneOf returns how much of a running call is done, such as "40%", or "" if its server has not reported a total.
func doneOf(c status.Call) string {
	if c.Total <= 0 || c.State != "written" {
		return ""
	}
	return fmt.Sprintf("%d%%", int(max(0, min(1, c.Progress/c.Total))*100))
}

func callFields(p *Picture, c status.Call) []Field {
	own := ""
	if c.Public != "" {
		own = c.Item
	}
	return fields(
		Field{"item", cmp.Or(c.Public, c.Item)}, Field{"state", stateOf(c)}, Field{"messages", recording(recordedUntil(p, c.Server), p.Now)}, Field{"why", waitsFor(c)}, Field{"client", clientOf(p, c)}, Field{"principal", c.Who},
		Field{"session", c.Session}, Field{"server", c.Server}, Field{"name at the server", own}, Field{"method", c.Method}, Field{"call", c.ID},
		Field{"began", instant(c.Began)}, Field{"deadline", instant(c.Deadline)}, Field{"request", size(max(c.In, -1))},
	)
}

// waitsFor returns what a call in flight is waiting for, as a clause.
func waitsFor(c status.Call) string {
	switch {
	case c.WaitsFor != "" && c.State == "parked":
		return c.WaitsFor
	case c.WaitsFor != "":
		return "waits for " + c.WaitsFor
	}
	switch c.State {
	case "parked":
		return "waits for its client to answer"
	case "queued":
		return "waits for a free slot at " + c.Server
	}
	return "waits for the server"
}

func callHealth(c status.Call, now time.Time) Health {
	switch {
	case c.State == "parked", c.State == "queued", now.Sub(c.Began) > longCall:
		return Warn
	}
	return Good
}

func finishedRow(call status.FinishedCall) Row {
	c := &call
	mark := markOf(c)
	total := took(time.Duration(c.Seconds * 1e9))
	return Row{
		ID: callKey(c.Session, cmp.Or(c.Public, c.Item), c.Began), Server: c.Server, Session: c.Session, Title: cmp.Or(c.Public, c.Item), Health: mark.health(), Mark: mark, Copy: cmp.Or(c.Public, c.Item),
		Cells: []Cell{clock(endOf(c)), text(cmp.Or(c.Client, c.Session)), text(c.Who), text(c.Server), text(cmp.Or(c.Public, c.Item)), colored(outcomeOf(c), mark.health()),
			between(c.Began, c.Taken), between(c.Written, c.Answered), total, bytesCell(c.In), bytesCell(c.Out), {Number: -1}},
		Detail: func() []Field { return finishedFields(c) },
	}
}

func endOf(c *status.FinishedCall) time.Time {
	return c.Began.Add(time.Duration(c.Seconds * 1e9))
}

// clock returns a cell with the time of day.
func clock(t time.Time) Cell {
	return Cell{Text: t.Local().Format(time.TimeOnly), Number: -float64(t.UnixMilli())}
}

func markOf(c *status.FinishedCall) Severity {
	switch {
	case c.Outcome == status.OutcomeCancelled.String():
		return sevIdle
	case c.Failed():
		return sevFailed
	}
	return sevGood
}

// outcomeOf returns how a call ended: "ok", the code of its error, or the outcome in words.
func outcomeOf(c *status.FinishedCall) string {
	return cmp.Or(c.Code, strings.ReplaceAll(c.Outcome, "_", " "))
}

func finishedFields(c *status.FinishedCall) []Field {
	own := ""
	if c.Public != "" {
		own = c.Item
	}
	return fields(
		Field{"item", cmp.Or(c.Public, c.Item)}, Field{"outcome", outcomeOf(c)}, Field{"error", c.Error}, Field{"client", c.Client}, Field{"principal", c.Who},
		Field{"session", c.Session}, Field{"protocol of the client", c.Version}, Field{"server", cmp.Or(c.Server, "none: the item is unknown")}, Field{"connection", c.Backend},
		Field{"protocol of the server", c.Peer}, Field{"name at the server", own}, Field{"method", c.Method},
		Field{"began", instant(c.Began)}, Field{"took", short(time.Duration(c.Seconds * 1e9))}, Field{"request", unlessZero(c.In)}, Field{"answer", unlessZero(c.Out)},
	)
}

// unlessZero formats a number of bytes, or returns "" if it is 0.
func unlessZero(n int64) string {
	if n == 0 {
		return ""
	}
	return size(n)
}
