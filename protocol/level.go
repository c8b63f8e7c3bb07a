package protocol

import (
	"slices"

	"goblin-actor/protocol/rawjson"
)

// Level is a log level of MCP, in its word. MCP 2025-11-25, server/utilities/logging.
type Level string

// The levels of RFC 5424, 6.2.1.
const (
	LevelNone      Level = "" // no log lines are wanted, or nobody has said which
	LevelDebug     Level = "debug"
	LevelInfo      Level = "info"
	LevelNotice    Level = "notice"
	LevelWarning   Level = "warning"
	LevelError     Level = "error"
	LevelCritical  Level = "critical"
	LevelAlert     Level = "alert"
	LevelEmergency Level = "emergency"
)

// levels are they, from the most verbose on.
var levels = [...]Level{LevelDebug, LevelInfo, LevelNotice, LevelWarning, LevelError, LevelCritical, LevelAlert, LevelEmergency}

// LevelNames returns the words for the levels, from the most verbose on.
func LevelNames() (names []string) {
	for _, level := range levels {
		names = append(names, string(level))
	}
	return names
}

// LevelOf returns the level that a raw JSON string names; LevelNone when there is no such level.
func LevelOf(raw []byte) Level {
	name, _ := rawjson.Unquote(raw)
	if i := slices.Index(levels[:], Level(name)); i >= 0 {
		return levels[i]
	}
	return LevelNone
}

// MoreVerbose reports whether who wants log lines of the level l and graver gets more than who wants those of other.
func (l Level) MoreVerbose(other Level) bool { return l.rank() < other.rank() }

// Admits reports whether who wants log lines of the level l and graver wants one of the level line. A line without a level
// that we know is none of them.
func (l Level) Admits(line Level) bool { return line.known() && l.rank() <= line.rank() }

// rank is how grave the level is: LevelNone, and what is no level, are graver than all.
func (l Level) rank() int {
	if i := slices.Index(levels[:], l); i >= 0 {
		return i
	}
	return len(levels)
}

func (l Level) known() bool { return l.rank() < len(levels) }

// quotedLevels are the levels as raw JSON.
var quotedLevels = func() map[Level][]byte {
	quoted := map[Level][]byte{}
	for _, level := range levels {
		quoted[level] = rawjson.Quote(string(level))
	}
	return quoted
}()

// quoted is the level as raw JSON, nil when there is no such level.
func (l Level) quoted() []byte { return quotedLevels[l] }

// isLevel reports whether the raw JSON string is a log level.
func isLevel(raw []byte) bool {
	if len(raw) < 2 {
		return false
	}
	quoted := quotedLevels[Level(raw[1:len(raw)-1])]
	return quoted != nil && string(quoted) == string(raw)
}
