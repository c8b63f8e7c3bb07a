package secret

import "slices"

// matcher finds any of many texts in another, as Wu and Manber did it: it looks at the last two bytes of a window that is as long as the
// shortest text, and where no text has these two it moves on by as many bytes as none can have them. So most of what it
// reads it does not look at. Immutable.
type matcher struct {
	shift [1 << 16]uint8      // by two bytes: how far the window may move; 0 = a text may be here
	texts map[uint16][]string // by the last two bytes of the window, longest first
}

// newMatcher is nil when there is nothing to find.
func newMatcher(values []string) *matcher {
	var all []string
	for _, value := range values {
		all = append(all, forms(value)...)
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	all = slices.DeleteFunc(all, func(s string) bool { return len(s) < Shortest })
	if len(all) == 0 {
		return nil
	}
	m, known := &matcher{texts: map[uint16][]string{}}, make(map[string]bool, len(all))
	for i := range m.shift {
		m.shift[i] = Shortest - 1
	}
	for _, text := range all {
		if known[text] { // many forms are alike; thousands of tokens that begin alike stand at one place, which is too long to look through
			continue
		}
		known[text] = true
		for end := 1; end < Shortest; end++ {
			pair := pairAt(text, end)
			m.shift[pair] = min(m.shift[pair], uint8(Shortest-1-end))
		}
		pair := pairAt(text, Shortest-1)
		m.texts[pair] = append(m.texts[pair], text)
	}
	return m
}

func pairAt[T string | []byte](s T, end int) uint16 { return uint16(s[end-1])<<8 | uint16(s[end]) }

// findIn returns the first place at or after from where one of the texts stands, the longest of several; -1 = there is none.
func findIn[T string | []byte](m *matcher, s T, from int) (start, end int) {
	for at := from + Shortest - 1; at < len(s); {
		pair := pairAt(s, at)
		if skip := m.shift[pair]; skip > 0 {
			at += int(skip)
			continue
		}
		begin := at - (Shortest - 1)
		for _, text := range m.texts[pair] {
			if len(text) <= len(s)-begin && string(s[begin:begin+len(text)]) == text {
				return begin, begin + len(text)
			}
		}
		at++
	}
	return -1, -1
}

// span is findIn, and goes on as long as another text begins within what was found and ends behind it.
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
