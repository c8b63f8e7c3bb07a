package main

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// usualColumns are those of a terminal that does not say how many it has.
const usualColumns = 80

// widthOf is how many columns the terminal behind w has; 0 = it is none, and nothing need fit.
func widthOf(w io.Writer) int {
	if !isTerminal(w) {
		return 0
	}
	if n := terminalColumns(w.(*os.File)); n > 0 {
		return max(n, usualColumns/2)
	}
	return usualColumns
}

// broken cuts a line into pieces, the first and all others of at most so many columns: at blanks, unless the piece would be
// less than half full.
func broken(line string, first, rest int) []string {
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

// hanging is text in lines of the width, the further ones indented; a width of 0 leaves it as it is.
func hanging(text string, width, indent int) string {
	if width == 0 {
		return text
	}
	indent = min(indent, width*2/3)
	return strings.Join(broken(text, width, width-indent), "\n"+strings.Repeat(" ", indent))
}

// fitHelp has the help of all commands fit the terminal: it is written for wide pages.
func fitHelp(root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		w := cmd.OutOrStdout()
		width := widthOf(w)
		if width == 0 {
			help(cmd, args)
			return
		}
		var page strings.Builder
		cmd.SetOut(&page)
		help(cmd, args)
		cmd.SetOut(w)
		_, _ = io.WriteString(w, fitted(page.String(), width)) // as cobra does
	})
}

// fitted breaks what is longer than the width: paragraphs as a whole, the lines of lists below their text. Examples stay as they
// are, since they are copied.
func fitted(page string, width int) string {
	var b strings.Builder
	var paragraph []string
	copied := false
	flush := func() {
		for _, line := range paragraph {
			if columns(line) > width {
				paragraph = broken(strings.Join(paragraph, " "), width, width)
				break
			}
		}
		for _, line := range paragraph {
			b.WriteString(line + "\n")
		}
		paragraph = paragraph[:0]
	}
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		if line != "" && line[0] != ' ' {
			copied = line == "Examples:"
			paragraph = append(paragraph, line)
			continue
		}
		flush()
		if !copied {
			line = hanging(line, width, textColumn(line))
		}
		b.WriteString(line + "\n")
	}
	flush()
	return b.String()
}

// textColumn is where in a line of a list the text begins that explains its first words.
func textColumn(line string) int {
	words := strings.TrimLeft(line, " ")
	start := len(line) - len(words)
	gap := strings.Index(words, "  ")
	if gap < 0 {
		return start + 2
	}
	return start + gap + len(words[gap:]) - len(strings.TrimLeft(words[gap:], " "))
}
