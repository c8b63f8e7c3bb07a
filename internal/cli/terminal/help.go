package terminal

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// FitHelp makes the help of all commands fit the width of the terminal.
func FitHelp(root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		w := cmd.OutOrStdout()
		width := Width(w)
		if width == 0 {
			help(cmd, args)
			return
		}
		var page strings.Builder
		cmd.SetOut(&page)
		help(cmd, args)
		cmd.SetOut(w)
		_, _ = io.WriteString(w, fitted(page.String(), width)) // the error is ignored, as cobra does
	})
}

// fitted wraps text that exceeds the width. It joins and wraps paragraphs as a whole, and gives list items a hanging
// indent. It does not change examples, because users copy them.
func fitted(page string, width int) string {
	var b strings.Builder
	var paragraph []string
	copied := false
	flush := func() {
		for _, line := range paragraph {
			if columns(line) > width {
				paragraph = wrap(strings.Join(paragraph, " "), width, width)
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
			line = Hang(line, width, textColumn(line))
		}
		b.WriteString(line + "\n")
	}
	flush()
	return b.String()
}

// textColumn returns the column at which wrapped lines of a list item continue: that of the description after the gap
// of two spaces, or two columns to the right of the item's start.
func textColumn(line string) int {
	words := strings.TrimLeft(line, " ")
	start := len(line) - len(words)
	gap := strings.Index(words, "  ")
	if gap < 0 {
		return start + 2
	}
	return start + gap + len(words[gap:]) - len(strings.TrimLeft(words[gap:], " "))
}
