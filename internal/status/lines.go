package status

import (
	"cmp"
	"log/slog"
	"slices"
)

// What the log calls lines that a server wrote itself. They are logged at level debug, under the key LineKey, and remembered
// whatever level is logged.
const (
	MessageStderr = "server wrote to stderr"
	MessageLogged = "server sent a log line"
	LineKey       = "line"
)

// Levels of events that are a server's own lines.
const (
	LevelStderr = "STDERR"
	LevelLogged = "MCP"
)

// Bounds of what is remembered of each server, over restarts of it: 200 lines, 64 KiB, and the 256 servers that wrote last.
const (
	maxTailLines = 200
	maxTailBytes = 64 << 10
	maxTails     = 256
)

// tail is what one server said, and what the log said of it, the newest at the end.
type tail struct {
	lines []Event
	bytes int
}

func (t *tail) add(event Event) {
	t.lines = append(t.lines, event) // the slice moves on with each line that goes, so append copies the rest now and then
	t.bytes += weight(event)
	for len(t.lines) > maxTailLines || t.bytes > maxTailBytes && len(t.lines) > 1 {
		t.bytes -= weight(t.lines[0])
		t.lines[0] = Event{}
		t.lines = t.lines[1:]
	}
}

func weight(event Event) int { return len(event.Message) + len(event.Fields) + len(event.Server) }

// ownLine is the level of a record that is a server's own line; "" = it is a line of ours.
func ownLine(record *slog.Record) string {
	switch {
	case record.Level > slog.LevelDebug: // cheap for most
	case record.Message == MessageStderr:
		return LevelStderr
	case record.Message == MessageLogged:
		return LevelLogged
	}
	return ""
}

// remember puts an event into its server's tail; "" is the gateway's own. mu is held.
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

// forgetOne drops the tail that was written to longest ago. mu is held.
func (e *Events) forgetOne() {
	oldest, at := "", uint64(0)
	for server, t := range e.tails {
		if last := t.lines[len(t.lines)-1].Number; at == 0 || last < at {
			oldest, at = server, last
		}
	}
	delete(e.tails, oldest)
}

// Lines returns what is remembered of a server with a number above after, oldest first: its stderr, its log lines and what the
// log says of it. "" = of all servers, and of the gateway itself. These numbers are other than those of After.
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
