package terminal

import (
	"strings"
)

// Indent is a foreign text as lines that begin with two blanks. Long lines are broken: a terminal would begin the next one
// where our own words stand.
func Indent(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(Clean(text), "\n"), "\n") {
		for _, piece := range folded(line) {
			b.WriteString("  " + piece + "\n")
		}
	}
	return b.String()
}

// Columns of a line of foreign text: one that is longer than the first is cut into pieces of the second, which leaves room
// for being indented twice.
const (
	maxColumns   = 76
	pieceColumns = 70
)

// folded cuts a line into pieces.
func folded(line string) []string {
	if columns(line) <= maxColumns {
		return []string{line}
	}
	return wrap(line, pieceColumns, pieceColumns)
}

func columns(s string) (n int) {
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

// runeColumns is how wide a terminal draws r, at most.
func runeColumns(r rune) int {
	if r < 0x1100 { // where scripts of double width begin
		return 1
	}
	return 2
}

// wrap cuts a line into pieces, the first and all others of at most so many columns: at blanks, unless the piece would be
// less than half full.
func wrap(line string, first, rest int) []string {
	var pieces []string
	limit := first
	for columns(line) > limit {
		used, cut, blank := 0, len(line), 0
		for i, r := range line {
			if r == ' ' && used >= limit/2 {
				blank = i
			}
			if used += runeColumns(r); used > limit && i > 0 {
				cut = i
				break
			}
		}
		if blank > 0 && cut < len(line) {
			cut = blank
		}
		pieces = append(pieces, strings.TrimRight(line[:cut], " "))
		line = strings.TrimLeft(line[cut:], " ")
		limit = rest
	}
	return append(pieces, line)
}

// Hang is text in lines of the width, the further ones indented; a width of 0 leaves it as it is.
func Hang(text string, width, indent int) string {
	if width == 0 {
		return text
	}
	indent = min(indent, width*2/3)
	return strings.Join(wrap(text, width, width-indent), "\n"+strings.Repeat(" ", indent))
}
