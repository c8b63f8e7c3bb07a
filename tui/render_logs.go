package tui

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"goblin-actor/internal/status"
	"goblin-actor/internal/visible"
)

// Ranks of log lines by level. What a server writes to stderr is as important as info.
const (
	rankDebug = iota
	rankInfo
	rankWarn
	rankError
)

// levels names the ranks.
var levels = [...]string{"debug", "info", "warn", "error"}

// maxLogText limits the text of a log line on the screen, in runes.
const maxLogText = 2100

// logsKind shows the gateway's log and the lines of its servers, newest last.
var logsKind = &Kind{
	Name: "logs", Tail: true, Levels: true,
	Columns: []Column{{Name: "TIME"}, {Name: "LEVEL", Sort: 'L'}, {Name: "SERVER", Sort: 'S', Words: true}, {Name: "WHAT", Flex: true}},
	Same:    sameLog,
	Rows:    logRows,
}

func sameLog(a, b *Picture) bool {
	return a.line == b.line && lastEvent(a.Events) == lastEvent(b.Events)
}

func lastEvent(all []status.Event) uint64 {
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].Number
}

// logRows merges both logs by time. Equal neighbors become one row with their number.
func logRows(p *Picture) []Row {
	rows := make([]Row, 0, len(p.Events)+len(p.Lines))
	var last *status.Event
	times := 1
	add := func(e *status.Event, own string) {
		id := own + strconv.FormatUint(e.Number, 10)
		if last != nil && last.Level == e.Level && last.Server == e.Server && last.Message == e.Message && last.Fields == e.Fields {
			times++
			rows[len(rows)-1] = logRow(e, rows[len(rows)-1].ID, times)
			return
		}
		last, times = e, 1
		rows = append(rows, logRow(e, id, 1))
	}
	i, j := 0, 0
	for i < len(p.Events) || j < len(p.Lines) {
		if j == len(p.Lines) || i < len(p.Events) && !p.Lines[j].Time.Before(p.Events[i].Time) {
			add(&p.Events[i], "")
			i++
		} else {
			add(&p.Lines[j], "own ") // the lines of servers are numbered separately
			j++
		}
	}
	return rows
}

func rankOf(level string) (int, Health) {
	switch {
	case strings.HasPrefix(level, "ERROR"):
		return rankError, Bad
	case strings.HasPrefix(level, "WARN"):
		return rankWarn, Warn
	case strings.HasPrefix(level, "DEBUG"):
		return rankDebug, Quiet
	}
	return rankInfo, Plain
}

// logRow returns the row of a line that was logged the given number of times in a row.
func logRow(e *status.Event, id string, times int) Row {
	rank, health := rankOf(e.Level)
	level, what := e.Level, strings.TrimSpace(e.Message+"  "+e.Fields)
	switch level {
	case status.LevelStderr:
		level = "stderr"
	case status.LevelLogged:
		level = "mcp"
	}
	if times > 1 {
		what += "  ×" + strconv.Itoa(times)
	}
	return Row{
		ID: id, Title: "line of " + cmp.Or(e.Server, "the gateway"), Server: e.Server, Health: health, Rank: rank, Copy: what,
		Cells: []Cell{{Text: e.Time.Local().Format("15:04:05.000"), Number: float64(e.Time.UnixMilli())}, colored(level, health), text(e.Server), {Text: long(what), Health: health}},
		Detail: func() []Field {
			return fields(Field{"time", e.Time.Local().Format(time.RFC3339Nano)}, Field{"level", e.Level}, Field{"server", e.Server},
				Field{"message", cmp.Or(e.Message, "(empty)")}, Field{"fields", e.Fields}, Field{"times", strconv.Itoa(times)})
		},
	}
}

// long is plain for a text that may take several lines of the screen.
func long(s string) string {
	return visible.Cut(visible.Text(strings.Join(strings.Fields(s), " ")), maxLogText)
}

// nextLevel shows only more important lines or, after the most important ones, all.
func (t *table) nextLevel() {
	t.minRank = (t.minRank + 1) % len(levels)
	t.apply()
}
