package output

import (
	"io"
	"strings"
	"unicode/utf8"

	"goblin-actor/internal/cli/terminal"
)

// MaxCell is the maximum number of characters of a description in a table.
const MaxCell = 72

// PrintTable prints rows in columns under a header. It omits columns that are empty in every row. Each row must have as
// many cells as head, and cells must have been escaped by terminal.Clean or OneLine. On a terminal, it cuts the last
// column to fit the width.
func PrintTable(w io.Writer, head []string, rows [][]string) error {
	var out strings.Builder
	if width := terminal.Width(w); width > 0 {
		narrow(head, rows, width)
	}
	RenderTable(&out, terminal.PaletteFor(w), head, rows)
	_, err := io.WriteString(w, out.String())
	return err
}

// minLastColumn is the minimum width of a table's last column, however narrow the terminal is.
const minLastColumn = 24

// narrow cuts the cells of the last column so that the table fits the width, but not to less than minLastColumn
// characters.
func narrow(head []string, rows [][]string, width int) {
	last := len(head) - 1
	for column := range last {
		widest := 0
		for _, row := range rows {
			widest = max(widest, utf8.RuneCountInString(row[column]))
		}
		if widest > 0 {
			width -= 2 + max(widest, len(head[column]))
		}
	}
	for _, row := range rows {
		row[last] = terminal.OneLine(row[last], max(width, minLastColumn))
	}
}

// RenderTable appends a table to out, with a header and columns padded to their widest cell. It omits columns that are
// empty in every row.
func RenderTable(out *strings.Builder, p terminal.Palette, head []string, rows [][]string) {
	width := make([]int, len(head))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	line := func(cells []string, paint func(string) string) {
		var b strings.Builder
		for i, cell := range cells {
			if width[i] == 0 {
				continue
			}
			b.WriteString(cell)
			b.WriteString(strings.Repeat(" ", max(width[i], len(head[i]))-utf8.RuneCountInString(cell)+2))
		}
		out.WriteString(paint(strings.TrimRight(b.String(), " ")))
		out.WriteByte('\n')
	}
	line(head, p.Bold)
	for _, row := range rows {
		line(row, terminal.Plain)
	}
}
