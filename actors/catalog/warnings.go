package catalog

import (
	"fmt"
	"unicode/utf8"
)

// maxWarnings bounds what one list of one server can make us say.
const maxWarnings = 20

// warn appends a warning, or, once there are too many, says so once.
func warn(to []string, format string, args ...any) []string {
	switch {
	case len(to) < maxWarnings:
		return append(to, fmt.Sprintf(format, args...))
	case len(to) == maxWarnings:
		return append(to, "… and more like it, not shown")
	default:
		return to
	}
}

// clip cuts s to at most limit bytes, at the border of a character, and says so.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
