package secret

import (
	"cmp"
	"slices"
	"strings"
)

// matcher finds any of a set of strings in a text, using the Wu–Manber algorithm. It compares the last two bytes of a
// window of Shortest bytes, and moves the window as far as possible without missing a match, so it does not read most
// of the text. Strings are added and removed one by one: the cost of a renewed token depends on its length, not on the
// size of the set.
type matcher struct {
	shift [1 << 16]uint8      // distance that the window may move, by its last two bytes; 0 if a string may match here
	texts map[uint16][]wanted // strings by the last two bytes of the window, longest first
	count int                 // number of strings
	gone  int                 // strings removed since shift was computed, so the window could move further
}

// wanted is a string, and how often it was added.
type wanted struct {
	text  string
	times int
}

func newMatcher() *matcher {
	m := &matcher{texts: map[uint16][]wanted{}}
	m.reset()
	return m
}

func (m *matcher) reset() {
	for i := range m.shift {
		m.shift[i] = Shortest - 1
	}
}

// add adds all forms of a value.
func (m *matcher) add(value string) {
	for _, text := range forms(value) {
		if len(text) < Shortest {
			continue
		}
		bucket, at, known := m.place(text)
		if known {
			bucket[at].times++
			continue
		}
		m.texts[pairAt(text, Shortest-1)] = slices.Insert(bucket, at, wanted{text, 1})
		m.count++
		m.note(text)
	}
}

// note updates shift, so that the window stops at text.
func (m *matcher) note(text string) {
	for end := 1; end < Shortest; end++ {
		pair := pairAt(text, end)
		m.shift[pair] = min(m.shift[pair], uint8(Shortest-1-end))
	}
}

// remove reverses add.
func (m *matcher) remove(value string) {
	for _, text := range forms(value) {
		if len(text) < Shortest {
			continue
		}
		bucket, at, known := m.place(text)
		if !known {
			continue
		}
		if bucket[at].times--; bucket[at].times > 0 {
			continue
		}
		pair := pairAt(text, Shortest-1)
		if m.texts[pair] = slices.Delete(bucket, at, at+1); len(m.texts[pair]) == 0 {
			delete(m.texts, pair)
		}
		m.count--
		m.gone++
	}
	if m.gone <= m.count {
		return
	}
	m.gone = 0
	m.reset()
	for _, bucket := range m.texts {
		for i := range bucket {
			m.note(bucket[i].text)
		}
	}
}

// place returns the bucket of a string and its position in it. known reports whether it is there.
func (m *matcher) place(text string) (bucket []wanted, at int, known bool) {
	bucket = m.texts[pairAt(text, Shortest-1)]
	at, known = slices.BinarySearchFunc(bucket, text, func(w wanted, text string) int {
		return cmp.Or(len(text)-len(w.text), strings.Compare(w.text, text))
	})
	return bucket, at, known
}

func pairAt[T string | []byte](s T, end int) uint16 { return uint16(s[end-1])<<8 | uint16(s[end]) }

// findIn returns the first match at or after from, or -1. Of several matches at the same offset, it returns the
// longest.
func findIn[T string | []byte](m *matcher, s T, from int) (start, end int) {
	for at := from + Shortest - 1; at < len(s); {
		pair := pairAt(s, at)
		if skip := m.shift[pair]; skip > 0 {
			at += int(skip)
			continue
		}
		begin := at - (Shortest - 1)
		for i := range m.texts[pair] {
			text := m.texts[pair][i].text
			if len(text) <= len(s)-begin && string(s[begin:begin+len(text)]) == text {
				return begin, begin + len(text)
			}
		}
		at++
	}
	return -1, -1
}

// beginning returns the first offset from which the rest of s is a prefix of one of the strings, at least Shortest
// bytes long, or -1.
func (m *matcher) beginning(s string) int {
	for at := Shortest - 1; at < len(s); {
		pair := pairAt(s, at)
		if skip := m.shift[pair]; skip > 0 {
			at += int(skip)
			continue
		}
		begin := at - (Shortest - 1)
		if slices.ContainsFunc(m.texts[pair], func(w wanted) bool { return strings.HasPrefix(w.text, s[begin:]) }) {
			return begin
		}
		at++
	}
	return -1
}

// span is like findIn, but extends the match by overlapping matches.
func (m *matcher) span(s string, from int) (start, end int) {
	start, end = findIn(m, s, from)
	for inside := start; start >= 0; {
		next, nextEnd := findIn(m, s, inside+1)
		if next < 0 || next >= end {
			break
		}
		inside, end = next, max(end, nextEnd)
	}
	return start, end
}

// cut returns s with all matches hidden.
func (m *matcher) cut(s string) string {
	from, to := m.span(s, 0)
	if from < 0 {
		return s
	}
	var b strings.Builder
	last := 0
	for from >= 0 {
		b.WriteString(s[last:from])
		b.WriteString(Hidden)
		last = to
		from, to = m.span(s, to)
	}
	return b.String() + s[last:]
}

// cutMarked returns s with prefixes of strings hidden where s is marked as truncated.
func (m *matcher) cutMarked(s string) string {
	var b strings.Builder
	last := 0
	for from := 0; ; {
		length := strings.Index(s[from:], more)
		if length < 0 {
			return b.String() + s[last:]
		}
		if begin := m.beginning(s[from : from+length]); begin >= 0 {
			b.WriteString(s[last : from+begin])
			b.WriteString(Hidden)
			last = from + length
		}
		from += length + len(more)
	}
}
