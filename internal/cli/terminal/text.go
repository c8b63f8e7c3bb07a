package terminal

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"goblin-actor/internal/visible"
)

// Clean escapes text from outside, so that it can neither control the terminal nor contain invisible characters.
func Clean(s string) string { return visible.Text(s) }

// OneLine escapes s like Clean, replaces each run of white space by a space, and cuts the result to limit characters. 0
// means no limit.
func OneLine(s string, limit int) string {
	return visible.Cut(Clean(strings.Join(strings.Fields(s), " ")), limit)
}

// Names joins up to 20 names with commas and adds the number of the remaining ones. It returns "none" if there are no
// names.
func Names(names []string) string {
	const most = 20
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > most:
		return OneLine(strings.Join(names[:most], ", "), 0) + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return OneLine(strings.Join(names, ", "), 0)
}

// UseOneOf returns a hint that lists the names to choose from, or "" if there are none.
func UseOneOf(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "use one of: " + Names(names)
}

// Count returns a number with its noun, in the singular or plural.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Pad appends spaces to s up to width runes.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}
