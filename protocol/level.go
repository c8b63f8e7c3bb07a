package protocol

import (
	"slices"

	"goblin-actor/protocol/rawjson"
)

// Level is the name of an MCP log level. MCP 2025-11-25, server/utilities/logging
type Level string

// The log levels, from RFC 5424, section 6.2.1.
const (
	LevelNone      Level = "" // no log messages requested
	LevelDebug     Level = "debug"
	LevelInfo      Level = "info"
	LevelNotice    Level = "notice"
	LevelWarning   Level = "warning"
	LevelError     Level = "error"
	LevelCritical  Level = "critical"
	LevelAlert     Level = "alert"
	LevelEmergency Level = "emergency"
)

// levels lists the levels, most verbose first.
var levels = [...]Level{LevelDebug, LevelInfo, LevelNotice, LevelWarning, LevelError, LevelCritical, LevelAlert, LevelEmergency}

// LevelNames returns the names of the levels, most verbose first.
func LevelNames() (names []string) {
	for _, level := range levels {
		names = append(names, string(level))
	}
	return names
}

// LevelOf returns the level with the name in a raw JSON string, or LevelNone if there is none.
func LevelOf(raw []byte) Level {
	name, _ := rawjson.Unquote(raw)
	if i := slices.Index(levels[:], Level(name)); i >= 0 {
		return levels[i]
	}
	return LevelNone
}

// MoreVerbose reports whether a subscriber at level l receives more messages than one at level other.
func (l Level) MoreVerbose(other Level) bool { return l.rank() < other.rank() }

// Admits reports whether a subscriber at level l receives a message of level line. A message with an unknown level is never
// admitted.
func (l Level) Admits(line Level) bool { return line.known() && l.rank() <= line.rank() }

// rank returns the severity of the level. LevelNone and unknown levels rank above all others.
func (l Level) rank() int {
	if i := slices.Index(levels[:], l); i >= 0 {
		return i
	}
	return len(levels)
}

func (l Level) known() bool { return l.rank() < len(levels) }

// quotedLevels maps levels to their raw JSON strings.
var quotedLevels = func() map[Level][]byte {
	quoted := map[Level][]byte{}
	for _, level := range levels {
		quoted[level] = rawjson.Quote(string(level))
	}
	return quoted
}()

// quoted returns the level as a raw JSON string, or nil if the level is unknown.
func (l Level) quoted() []byte { return quotedLevels[l] }

// isLevel reports whether the raw JSON string is a log level.
func isLevel(raw []byte) bool {
	if len(raw) < 2 {
		return false
	}
	quoted := quotedLevels[Level(raw[1:len(raw)-1])]
	return quoted != nil && string(quoted) == string(raw)
}
