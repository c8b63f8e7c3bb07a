package tui

// Severity says how urgently a row needs attention. Rows with a severity have its glyph in front of them, and views with
// Kind.Worst list the most urgent rows first.
type Severity uint8

// Severities, most urgent first after the zero value.
const (
	sevNone    Severity = iota // no glyph
	sevAct                     // a person must act
	sevFailed                  // failed; the gateway retries by itself
	sevBusy                    // on its way to another state
	sevLimited                 // works, with a limitation
	sevGood                    // works
	sevIdle                    // not in use
	sevOff                     // disabled
)

// glyphs holds the glyph of each Severity.
var glyphs = [...]string{" ", "▲", "✗", "◐", "◑", "●", "○", "–"}

// health returns the color of a severity.
func (s Severity) health() Health {
	return [...]Health{Plain, Bad, Bad, Warn, Warn, Good, Quiet, Quiet}[s]
}

// severityOf maps the state of a server or a backend to a Severity.
func severityOf(state string) Severity {
	switch state {
	case "needs-login", "misconfigured":
		return sevAct
	case "waiting", "stopped":
		return sevFailed
	case "connecting", "handshaking", "syncing", "draining":
		return sevBusy
	case "ready":
		return sevGood
	case "disabled":
		return sevOff
	}
	return sevIdle
}
