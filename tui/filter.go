package tui

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// filter matches rows. "text" matches rows with any cell that contains the text, "mime:text/" rows in which the column
// MIME contains it, "mime:!text/" rows in which it does not, and "subs:" rows in which the column SUBS is not empty.
// "total>100ms" and "total<100ms" compare a column's number.
type filter struct {
	column int    // -1 = any
	text   string // in lower case
	not    bool
	sign   int // 1 = greater than number, -1 = less; 0 = compare text
	number float64
	words  bool // only whole words match
}

// filters match the rows that every single filter matches.
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
	return filters{{column: -1, text: strings.ToLower(t.query)}}
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
		return filter{column: i, text: strings.ToLower(text), not: not, words: t.columns[i].Words}, true
	}
	number, ok := amount(text, t.columns[i].Bytes)
	if s[at] == '<' {
		return filter{column: i, sign: -1, number: number}, ok
	}
	return filter{column: i, sign: 1, number: number}, ok
}

// amount parses a number (3) or, with a unit, a duration (100ms, 2m), which it returns in seconds. If bytes is true, it
// parses a size (64k) instead of a duration, and returns bytes.
func amount(s string, bytes bool) (float64, bool) {
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		return n, true
	}
	if !bytes {
		d, err := time.ParseDuration(s)
		return d.Seconds(), err == nil
	}
	s, _ = strings.CutSuffix(strings.ToLower(s), "b")
	s, _ = strings.CutSuffix(s, "i")
	n := len(s) - 1
	if n < 1 {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(s[:n]), 64)
	shift := strings.IndexByte("kmgt", s[n])
	return f * float64(int64(1)<<(10*(shift+1))), err == nil && shift >= 0
}

// all reports whether the filters match every row.
func (f filters) all() bool { return len(f) == 1 && f[0].column < 0 && f[0].text == "" }

func (f filters) matches(r *Row) bool {
	return !slices.ContainsFunc(f, func(one filter) bool { return !one.matches(r) })
}

func (f filter) matches(r *Row) bool {
	if f.column < 0 {
		return strings.Contains(r.foldedText(), f.text)
	}
	cell := cellOf(r, f.column)
	if f.sign != 0 {
		return cell.Text != "" && cmp.Compare(cell.Number, f.number) == f.sign && cell.Number >= 0
	}
	return (cell.Text != "" && f.within(strings.ToLower(cell.Text))) != f.not
}

// within reports whether a text in lower case contains the filter's text.
func (f filter) within(text string) bool {
	if !f.words || f.text == "" {
		return strings.Contains(text, f.text)
	}
	for from := 0; ; {
		at := strings.Index(text[from:], f.text)
		if at < 0 {
			return false
		}
		at += from
		end := at + len(f.text)
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if (at == 0 || !isWord(before)) && (end == len(text) || !isWord(after)) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		from = at + size
	}
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// marks returns a function that reports whether to highlight the rune of a cell's text at an index, or nil to highlight none.
func (f filters) marks(column int, text string) func(int) bool {
	for _, one := range f {
		if one.sign != 0 || one.not || one.column >= 0 && one.column != column {
			continue
		}
		if mark := marks(text, []rune(one.text)); mark != nil {
			return mark
		}
	}
	return nil
}
