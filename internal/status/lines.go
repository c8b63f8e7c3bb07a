package status

import (
	"cmp"
	"log/slog"
	"slices"
)

// Log messages for lines that a server itself wrote. The line is in the attribute LineKey. These messages are logged at
// level debug, and the lines are stored regardless of the log level.
const (
	MessageStderr = "server wrote to stderr"
	MessageLogged = "server sent a log line"
	LineKey       = "line"
)

// Values of Event.Level for a server's own lines.
const (
	LevelStderr = "STDERR"
	LevelLogged = "MCP"
)

// Limits of stored lines: 200 lines and 64 KiB per server, also across its restarts, for the 256 servers that wrote last.
const (
	maxTailLines = 200
	maxTailBytes = 64 << 10
	maxTails     = 256
)

// tail holds the most recent lines that a server wrote or that the gateway logged about it.
type tail struct {
	lines []Event
	bytes int
}

func (t *tail) add(event Event) {
	t.lines = append(t.lines, event) // removing lines advances the start of the slice, so append copies the remaining lines from time to time
	t.bytes += weight(event)
	for len(t.lines) > maxTailLines || t.bytes > maxTailBytes && len(t.lines) > 1 {
		t.bytes -= weight(t.lines[0])
		t.lines[0] = Event{}
		t.lines = t.lines[1:]
	}
}

func weight(event Event) int { return len(event.Message) + len(event.Fields) + len(event.Server) }

// ownLine returns the event level for a log record with a server's own line, and "" for other records.
func ownLine(record *slog.Record) string {
	switch {
	case record.Level > slog.LevelDebug: // excludes most records without comparing texts
	case record.Message == MessageStderr:
		return LevelStderr
	case record.Message == MessageLogged:
		return LevelLogged
	}
	return ""
}

// remember adds an event to the tail of its server; "" is the gateway. The caller must hold mu.
func (e *Events) remember(event Event) {
	e.lines++
	event.Number = e.lines
	if e.tails == nil {
		e.tails = map[string]*tail{}
	}
	t := e.tails[event.Server]
	if t == nil {
		if len(e.tails) >= maxTails {
			e.forgetOne()
		}
		t = &tail{}
		e.tails[event.Server] = t
	}
	t.add(event)
}

// forgetOne drops the tail that was not written to for the longest time. The caller must hold mu.
func (e *Events) forgetOne() {
	oldest, at := "", uint64(0)
	for server, t := range e.tails {
		if last := t.lines[len(t.lines)-1].Number; at == 0 || last < at {
			oldest, at = server, last
		}
	}
	delete(e.tails, oldest)
}

// Lines returns the stored lines of a server with a number above after, oldest first: its stderr, its log messages and log lines
// about it. "" = of all servers and the gateway. Their numbers are independent of those of After.
func (e *Events) Lines(server string, after uint64) []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	if server != "" {
		return e.tails[server].after(nil, after)
	}
	var out []Event
	for _, t := range e.tails {
		out = t.after(out, after)
	}
	slices.SortFunc(out, func(a, b Event) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

func (t *tail) after(out []Event, number uint64) []Event {
	if t == nil {
		return out
	}
	i, _ := slices.BinarySearchFunc(t.lines, number+1, func(e Event, n uint64) int { return cmp.Compare(e.Number, n) })
	return append(out, t.lines[i:]...)
}
