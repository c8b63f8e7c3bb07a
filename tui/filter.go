package tui

import (
	"slices"
	"strings"
)

// filter is what was typed behind the slash: a text that some cell contains, or, as in mime:text/, the cell of one column. A column
// alone, as in subs:, asks for rows that have something there.
type filter struct {
	column int // -1 = any
	text   []rune
}

// filter understands the query. What stands before a colon and is the name of no column is part of the text: URIs have colons.
func (t *table) filter() filter {
	if name, text, ok := strings.Cut(t.query, ":"); ok {
		if i := slices.IndexFunc(t.columns, func(c Column) bool { return strings.EqualFold(c.Name, name) }); i >= 0 {
			return filter{i, fold(text)}
		}
	}
	return filter{-1, fold(t.query)}
}

// all reports that every row passes.
func (f filter) all() bool { return f.column < 0 && len(f.text) == 0 }

func (f filter) matches(r *Row) bool {
	if f.column < 0 {
		return slices.ContainsFunc(r.Cells, func(c Cell) bool { return find(fold(c.Text), f.text, 0) >= 0 })
	}
	cell := cellOf(r, f.column).Text
	return cell != "" && find(fold(cell), f.text, 0) >= 0
}

// marked is what is highlighted in the cells of a column.
func (f filter) marked(column int) []rune {
	if f.column >= 0 && f.column != column {
		return nil
	}
	return f.text
}
