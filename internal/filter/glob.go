package filter

import (
	"strings"
	"unicode/utf8"

	"goblin-actor/internal/config"
)

// Blocked reports whether deny or disabled name it. Deny patterns are judged as Denies says; disabled ones are exact.
func Blocked(f *config.Filter, own string) bool {
	return Denies(f.Deny, own) || Any(f.Disabled, own)
}

// Hides reports whether the filter keeps the item with this own name from clients.
func Hides(f *config.Filter, own string) bool {
	return Blocked(f, own) || len(f.Allow) > 0 && !Any(f.Allow, own)
}

// Any reports whether one of the patterns matches.
func Any(patterns []string, s string) bool {
	for _, p := range patterns {
		if Glob(p, s) {
			return true
		}
	}
	return false
}

// Glob reports whether s as a whole matches pattern: * is any run of characters (slashes too), ? is one character.
// It takes at most len(pattern)*len(s) steps: only the last * is ever taken back.
func Glob(pattern, s string) bool {
	if !strings.ContainsAny(pattern, "*?") {
		return pattern == s
	}
	return glob(pattern, s, same)
}

// glob is Glob with characters compared by their form.
func glob(pattern, s string, form func(byte) byte) bool {
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		_, width := utf8.DecodeRuneInString(s[i:])
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && pattern[p] == '?':
			p, i = p+1, i+width
		case p < len(pattern) && form(pattern[p]) == form(s[i]):
			p, i = p+1, i+1
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
