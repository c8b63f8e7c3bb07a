package filter

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Denies reports whether one of the patterns matches the name, exactly or case-folded in NFC, because a server may
// ignore case and the encoding of accents. Only deny patterns are folded. Allow patterns are exact, so a name that the
// gateway and its server read differently is refused.
func Denies(patterns []string, name string) bool { return Denying(patterns, name) >= 0 }

// Denying returns the index of the first pattern that denies one of the names, or -1.
func Denying(patterns []string, names ...string) int {
	for i, pattern := range patterns {
		for _, name := range names {
			if deniedBy(pattern, name) {
				return i
			}
		}
	}
	return -1
}

func deniedBy(pattern, name string) bool {
	if Glob(pattern, name) {
		return true
	}
	if isASCII(pattern) && isASCII(name) {
		return glob(pattern, name, lowerASCII)
	}
	return Glob(fold(pattern), fold(name))
}

// fold returns s case-folded and in NFC, for comparison. Unicode 15, section 3.13, D146.
func fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return norm.NFC.String(cases.Fold().String(norm.NFD.String(s)))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func lowerASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func same(c byte) byte { return c }
