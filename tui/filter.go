package tui

import (
	"slices"
	"strings"
)

// filter matches rows. "text" matches rows with any cell that contains the text, "mime:text/" rows in which the column
// MIME contains it, and "subs:" rows in which the column SUBS is not empty.
type filter struct {
	column int // -1 = any
	text   []rune
}

// filter parses the query. If the part before a colon is not the name of a column, it belongs to the text, because URIs
// contain colons.
func (t *table) filter() filter {
	if name, text, ok := strings.Cut(t.query, ":"); ok {
		if i := slices.IndexFunc(t.columns, func(c Column) bool { return strings.EqualFold(c.Name, name) }); i >= 0 {
			return filter{i, fold(text)}
		}
	}
	return filter{-1, fold(t.query)}
}

// all reports whether the filter matches every row.
func (f filter) all() bool { return f.column < 0 && len(f.text) == 0 }

func (f filter) matches(r *Row) bool {
	if f.column < 0 {
		return slices.ContainsFunc(r.Cells, func(c Cell) bool { return find(fold(c.Text), f.text, 0) >= 0 })
	}
	cell := cellOf(r, f.column).Text
	return cell != "" && find(fold(cell), f.text, 0) >= 0
}

// marked returns the text to highlight in the cells of a column, or nil.
func (f filter) marked(column int) []rune {
	if f.column >= 0 && f.column != column {
		return nil
	}
	return f.text
}
