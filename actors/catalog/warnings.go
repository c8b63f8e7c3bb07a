package catalog

import (
	"fmt"
	"unicode/utf8"
)

// maxWarnings bounds the warnings about one list of a server, and about the names of one kind of items.
const maxWarnings = 20

// warn appends a warning, or at the limit a final one.
func warn(to []string, format string, args ...any) []string {
	switch {
	case len(to) < maxWarnings:
		return append(to, fmt.Sprintf(format, args...))
	case len(to) == maxWarnings:
		return append(to, "… further warnings are not shown")
	default:
		return to
	}
}

// clip returns s, or if s is longer than limit bytes, its beginning up to a character boundary and "…".
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
