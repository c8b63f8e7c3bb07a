package protocol

import "testing"

// A subscriber receives its level and higher ones. LevelNone receives nothing, and messages of unknown level are not
// admitted.
func TestLevels(t *testing.T) {
	for _, c := range []struct {
		wanted, line string
		admits       bool
	}{
		{"debug", "debug", true}, {"info", "debug", false}, {"info", "emergency", true}, {"emergency", "alert", false},
		{"", "emergency", false}, {"", "", false}, {"debug", "", false}, {"debug", "loud", false}, {"loud", "emergency", false},
	} {
		if got := Level(c.wanted).Admits(Level(c.line)); got != c.admits {
			t.Errorf("%q admits %q: %v", c.wanted, c.line, got)
		}
	}
	if !LevelInfo.MoreVerbose(LevelError) || LevelError.MoreVerbose(LevelInfo) || !LevelEmergency.MoreVerbose(LevelNone) || LevelNone.MoreVerbose(LevelNone) {
		t.Error("MoreVerbose does not order the levels from LevelNone to debug")
	}
	for raw, want := range map[string]Level{`"info"`: LevelInfo, `"al\u0065rt"`: LevelAlert, `"Info"`: LevelNone, `1`: LevelNone, ``: LevelNone} {
		if got := LevelOf([]byte(raw)); got != want {
			t.Errorf("%s is %q, want %q", raw, got, want)
		}
	}
}
