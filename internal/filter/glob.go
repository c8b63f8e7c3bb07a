package filter

import (
	"strings"
	"unicode/utf8"

	"goblin-actor/internal/config"
)

// Blocked reports whether a pattern of f.Deny or f.Disabled matches own. Those of f.Deny match as described at Denies,
// those of f.Disabled only exactly.
func Blocked(f *config.Filter, own string) bool {
	return Denies(f.Deny, own) || Any(f.Disabled, own)
}

// Hides reports whether the filter hides the item that its server calls own.
func Hides(f *config.Filter, own string) bool {
	return Blocked(f, own) || len(f.Allow) > 0 && !Any(f.Allow, own)
}

// Any reports whether one of the patterns matches s.
func Any(patterns []string, s string) bool {
	for _, p := range patterns {
		if Glob(p, s) {
			return true
		}
	}
	return false
}

// Glob reports whether pattern matches all of s. * matches any number of characters, including slashes, and ? matches
// one. It takes at most len(pattern)*len(s) steps, because it backtracks only to the last *.
func Glob(pattern, s string) bool {
	if !strings.ContainsAny(pattern, "*?") {
		return pattern == s
	}
	return glob(pattern, s, same)
}

// glob is like Glob, but compares bytes after applying form.
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
