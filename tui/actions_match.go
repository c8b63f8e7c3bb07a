package tui

import (
	"slices"
	"unicode"

	"github.com/gdamore/tcell/v2"
)

func char(r rune) func(*tcell.EventKey) bool {
	return func(e *tcell.EventKey) bool { return e.Key() == tcell.KeyRune && e.Rune() == r }
}

// keys matches any of several named keys.
func keys(all ...tcell.Key) func(*tcell.EventKey) bool {
	return func(e *tcell.EventKey) bool { return slices.Contains(all, e.Key()) }
}

// ctrl matches control plus a letter. Some terminals send the control character, others the letter with a modifier.
func ctrl(letter rune) func(*tcell.EventKey) bool {
	return keys(tcell.KeyCtrlA+tcell.Key(letter-'a'), tcell.Key(letter-'a'+1))
}

// anyOf matches if any of the given matchers does.
func anyOf(all ...func(*tcell.EventKey) bool) func(*tcell.EventKey) bool {
	return func(e *tcell.EventKey) bool {
		return slices.ContainsFunc(all, func(is func(*tcell.EventKey) bool) bool { return is(e) })
	}
}

// direction returns -1 for keys that move up or left, and 1 for all others.
func direction(e *tcell.EventKey) int {
	switch e.Key() {
	case tcell.KeyUp, tcell.KeyPgUp, tcell.KeyHome, tcell.KeyLeft, tcell.KeyBacktab:
		return -1
	case tcell.KeyRune:
		if e.Rune() == 'k' || e.Rune() == '[' || e.Rune() == '{' {
			return -1
		}
	}
	return 1
}

func isDigit(e *tcell.EventKey) bool {
	return e.Key() == tcell.KeyRune && e.Rune() >= '0' && e.Rune() <= '9'
}

func isSort(e *tcell.EventKey) bool {
	return e.Key() == tcell.KeyRune && unicode.IsUpper(e.Rune()) && e.Rune() < unicode.MaxASCII
}
