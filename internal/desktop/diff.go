package desktop

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"goblin-actor/internal/secret"
)

const (
	contextLines = 2
	lineRunes    = 160
)

// Diff returns the difference between two versions of the client's file: changed lines start with - or +, context
// lines with a space. It hides the content of other entries and comments, and the values of env and headers. name is
// the gateway's entry.
func (c Client) Diff(before, after, name string) []string {
	var lines []string
	gap := false
	all := script(c.lines(before, name), c.lines(after, name))
	for i, line := range all {
		if !nearChange(all, i) {
			gap = len(lines) > 0
			continue
		}
		if gap {
			lines = append(lines, "  …")
			gap = false
		}
		lines = append(lines, line[:2]+cut(line[2:]))
	}
	return lines
}

// nearChange reports whether line i is a change or context of one.
func nearChange(all []string, i int) bool {
	for _, line := range all[max(0, i-contextLines):min(len(all), i+contextLines+1)] {
		if line[0] != ' ' {
			return true
		}
	}
	return false
}

// maxCells limits the table of script. Beyond it, the differing lines are shown as one block.
const maxCells = 4 << 20

// script returns the lines of old and now, marked as common, removed or added, using the longest common subsequence.
func script(old, now []string) []string {
	var all []string
	add := func(mark string, lines []string) {
		for _, line := range lines {
			all = append(all, mark+line)
		}
	}
	head := 0
	for head < min(len(old), len(now)) && old[head] == now[head] {
		head++
	}
	tail := 0
	for tail < min(len(old), len(now))-head && old[len(old)-1-tail] == now[len(now)-1-tail] {
		tail++
	}
	add("  ", old[:head])
	a, b := old[head:len(old)-tail], now[head:len(now)-tail]
	if (len(a)+1)*(len(b)+1) > maxCells {
		add("- ", a)
		add("+ ", b)
	} else {
		common := commonLengths(a, b)
		for i, j := 0, 0; i < len(a) || j < len(b); {
			switch {
			case i < len(a) && j < len(b) && a[i] == b[j]:
				add("  ", a[i:i+1])
				i, j = i+1, j+1
			case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
				add("- ", a[i:i+1])
				i++
			default:
				add("+ ", b[j:j+1])
				j++
			}
		}
	}
	add("  ", old[len(old)-tail:])
	return all
}

// commonLengths returns the length of the longest common subsequence of a[i:] and b[j:], for all i and j.
func commonLengths(a, b []string) [][]int32 {
	table := make([][]int32, len(a)+1)
	for i := range table {
		table[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	return table
}

// cut shortens a long line to its end, because a new entry is inserted there.
func cut(line string) string {
	if r := []rune(line); len(r) > lineRunes {
		return "…" + string(r[len(r)-lineRunes:])
	}
	return line
}

// lines returns the lines of text with private content hidden.
func (c Client) lines(text, name string) []string {
	root, err := parse(text)
	if err != nil || strings.TrimSpace(text) == "" {
		return nil
	}
	h := hider{text: text, ours: []string{c.key, name}}
	h.value(root, nil)
	h.cover(root.EndOffset, len(text))
	return strings.Split(strings.TrimRight(strings.ReplaceAll(h.b.String(), "\r\n", "\n"), "\n"), "\n")
}

// hider copies a text and hides private content.
type hider struct {
	text string
	ours []string
	b    strings.Builder
	at   int
}

// value copies v, the value at path.
func (h *hider) value(v hujson.Value, path []string) {
	h.cover(h.at, v.StartOffset)
	switch value := v.Value.(type) {
	case *hujson.Object:
		for _, m := range value.Members {
			name, _ := m.Name.Value.(hujson.Literal)
			h.cover(h.at, m.Name.StartOffset)
			h.b.WriteString(h.text[m.Name.StartOffset:m.Name.EndOffset])
			h.at = m.Name.EndOffset
			h.value(m.Value, append(path[:len(path):len(path)], name.String()))
		}
	case *hujson.Array:
		words := make([]string, len(value.Elements))
		for i, element := range value.Elements {
			if word, ok := element.Value.(hujson.Literal); ok && word.Kind() == '"' {
				words[i] = word.String()
			}
		}
		for i, word := range secret.Arguments(words) {
			h.literalOr(value.Elements[i], path, word)
		}
	default:
		h.literalOr(v, path, "")
	}
	h.cover(h.at, v.EndOffset)
}

// literalOr writes v, and hides strings and numbers. Of the members of the gateway's own entry and the elements of their
// lists, it hides only secrets in strings. word is the displayable form of an argument, or "" if v is not an argument.
func (h *hider) literalOr(v hujson.Value, path []string, word string) {
	value, ok := v.Value.(hujson.Literal)
	if !ok {
		h.value(v, path)
		return
	}
	h.cover(h.at, v.StartOffset)
	ours := len(path) == 3 && slices.Equal(path[:2], h.ours)
	switch {
	case value.Kind() != '"' && (ours || value.Kind() != '0'):
		h.b.WriteString(h.text[v.StartOffset:v.EndOffset])
	case !ours:
		h.b.WriteString(`"…"`)
	default:
		word = cmp.Or(word, secret.Pair(path[2], value.String()))
		if word == value.String() {
			h.b.WriteString(h.text[v.StartOffset:v.EndOffset])
		} else {
			h.b.Write(hujson.String(word))
		}
	}
	h.at = v.EndOffset
}

// cover copies text between values, and hides the content of comments.
func (h *hider) cover(from, to int) {
	for i := from; i < to; i++ {
		rest := h.text[i:to]
		switch {
		case strings.HasPrefix(rest, "//"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			h.b.WriteString("// …")
			i += end - 1
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				end = len(rest) - 4
			}
			h.b.WriteString("/* …" + strings.Repeat("\n", strings.Count(rest[:end+4], "\n")) + " */")
			i += end + 3
		default:
			h.b.WriteByte(h.text[i])
		}
	}
	h.at = max(h.at, to)
}
