package terminal

import (
	"strings"
)

// Indent returns text from outside as lines that start with two spaces. It wraps long lines, because a terminal would
// continue them in the first column, where the command's own output starts.
func Indent(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(Clean(text), "\n"), "\n") {
		for _, piece := range folded(line) {
			b.WriteString("  " + piece + "\n")
		}
	}
	return b.String()
}

// A line of text from outside that exceeds maxColumns is cut into pieces of pieceColumns, which leaves space for two
// levels of indentation.
const (
	maxColumns   = 76
	pieceColumns = 70
)

// folded cuts a line that exceeds maxColumns into pieces.
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

// runeColumns returns the maximum width of r on a terminal.
func runeColumns(r rune) int {
	if r < 0x1100 { // below the scripts of double width
		return 1
	}
	return 2
}

// wrap cuts a line into pieces. The parameter first is the maximum width of the first piece, and rest that of the
// others, in columns. It cuts at a space unless the piece would then be less than half full.
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

// Hang wraps text to the width and indents all lines but the first. If width is 0, it returns text unchanged.
func Hang(text string, width, indent int) string {
	if width == 0 {
		return text
	}
	indent = min(indent, width*2/3)
	return strings.Join(wrap(text, width, width-indent), "\n"+strings.Repeat(" ", indent))
}
