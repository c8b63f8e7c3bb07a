package tui

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// filter matches rows. "text" matches rows with any cell that contains the text, "mime:text/" rows in which the column
// MIME contains it, "mime:!text/" rows in which it does not, and "subs:" rows in which the column SUBS is not empty.
// "total>100ms" and "total<100ms" compare a column's number.
type filter struct {
	column int // -1 = any
	text   []rune
	not    bool
	sign   int // 1 = greater than number, -1 = less; 0 = compare text
	number float64
	words  bool // only whole words match
}

// filters match rows that each of them matches.
type filters []filter

// filter parses the query: one or more conditions on columns, or else a text. If the part before a colon is not the name
// of a column, it belongs to the text, because URIs contain colons.
func (t *table) filter() filters {
	var all filters
	for _, word := range strings.Fields(t.query) {
		f, ok := t.condition(word)
		if !ok {
			break
		}
		all = append(all, f)
	}
	if len(all) > 0 && len(all) == len(strings.Fields(t.query)) {
		return all
	}
	if f, ok := t.condition(t.query); ok {
		return filters{f}
	}
	return filters{{column: -1, text: fold(t.query)}}
}

// condition parses a condition on one column.
func (t *table) condition(s string) (filter, bool) {
	at := strings.IndexAny(s, ":<>")
	if at < 1 {
		return filter{}, false
	}
	name, text := s[:at], s[at+1:]
	i := slices.IndexFunc(t.columns, func(c Column) bool { return strings.EqualFold(c.Name, name) })
	if i < 0 {
		return filter{}, false
	}
	if s[at] == ':' {
		text, not := strings.CutPrefix(text, "!")
		return filter{column: i, text: fold(text), not: not, words: t.columns[i].Words}, true
	}
	number, ok := amount(text)
	if s[at] == '<' {
		return filter{column: i, sign: -1, number: number}, ok
	}
	return filter{column: i, sign: 1, number: number}, ok
}

// amount parses a number, a duration or a size: 3, 100ms, 2m, 64k. Durations are in seconds, sizes in bytes.
func amount(s string) (float64, bool) {
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		return n, true
	}
	if d, err := time.ParseDuration(s); err == nil {
		return d.Seconds(), true
	}
	if n := len(s) - 1; n > 0 {
		if shift := strings.IndexByte("kmg", s[n]|' '); shift >= 0 {
			f, err := strconv.ParseFloat(s[:n], 64)
			return f * float64(int64(1)<<(10*(shift+1))), err == nil
		}
	}
	return 0, false
}

// all reports whether the filters match every row.
func (f filters) all() bool { return len(f) == 1 && f[0].column < 0 && len(f[0].text) == 0 }

func (f filters) matches(r *Row) bool {
	return !slices.ContainsFunc(f, func(one filter) bool { return !one.matches(r) })
}

func (f filter) matches(r *Row) bool {
	if f.column < 0 {
		return slices.ContainsFunc(r.Cells, func(c Cell) bool { return contains(c.Text, f.text) })
	}
	cell := cellOf(r, f.column)
	if f.sign != 0 {
		return cell.Text != "" && cmp.Compare(cell.Number, f.number) == f.sign && cell.Number >= 0
	}
	return (cell.Text != "" && f.within(fold(cell.Text))) != f.not
}

// within reports whether a folded text contains the filter's text.
func (f filter) within(text []rune) bool {
	for at := find(text, f.text, 0); at >= 0; at = find(text, f.text, at+1) {
		end := at + len(f.text)
		if !f.words || len(f.text) == 0 || (at == 0 || !isWord(text[at-1])) && (end == len(text) || !isWord(text[end])) {
			return true
		}
	}
	return false
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// marks returns a function that reports whether to highlight a rune of a cell's text, or nil.
func (f filters) marks(column int, text string) func(int) bool {
	for _, one := range f {
		if one.sign != 0 || one.not || one.column >= 0 && one.column != column {
			continue
		}
		if mark := marks(text, one.text); mark != nil {
			return mark
		}
	}
	return nil
}
