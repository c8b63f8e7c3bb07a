package tui

import (
	"slices"
	"strings"
)

// filter matches rows. "text" matches any cell that contains it, "mime:text/" the cell of one column, and "subs:" rows in
// which that column is not empty.
type filter struct {
	column int // -1 = any
	text   []rune
}

// filter parses the query. A prefix before a colon that is not a column's name belongs to the text, because URIs contain colons.
func (t *table) filter() filter {
	if name, text, ok := strings.Cut(t.query, ":"); ok {
		if i := slices.IndexFunc(t.columns, func(c Column) bool { return strings.EqualFold(c.Name, name) }); i >= 0 {
			return filter{i, fold(text)}
		}
	}
	return filter{-1, fold(t.query)}
}

// all reports whether every row matches.
func (f filter) all() bool { return f.column < 0 && len(f.text) == 0 }

func (f filter) matches(r *Row) bool {
	if f.column < 0 {
		return slices.ContainsFunc(r.Cells, func(c Cell) bool { return find(fold(c.Text), f.text, 0) >= 0 })
	}
	cell := cellOf(r, f.column).Text
	return cell != "" && find(fold(cell), f.text, 0) >= 0
}

// marked returns the text to highlight in the cells of a column.
func (f filter) marked(column int) []rune {
	if f.column >= 0 && f.column != column {
		return nil
	}
	return f.text
}
