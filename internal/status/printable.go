package status

import "strings"

// Printable returns s without control characters, cut to limit bytes as Cut does.
func Printable(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
	return Cut(s, limit)
}
