package terminal

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"goblin-actor/internal/visible"
)

// Clean escapes text from outside, so that it can neither control the terminal nor contain invisible characters.
func Clean(s string) string { return visible.Text(s) }

// OneLine is Clean for one line: white space becomes single spaces, and text longer than limit characters is cut. 0 means no limit.
func OneLine(s string, limit int) string {
	return visible.Cut(Clean(strings.Join(strings.Fields(s), " ")), limit)
}

// Names returns names in one line, up to a limit.
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

// Count returns a number with its noun, in singular or plural.
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
