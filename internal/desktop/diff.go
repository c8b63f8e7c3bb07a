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

// Diff shows what becomes of text when it is edited: changed lines begin with - or +, lines around them with a blank.
// What other entries and comments say is hidden, and so are values of env and headers of ours: only keys are shown.
func (c Client) Diff(before, after, name string) []string {
	old, now := c.lines(before, name), c.lines(after, name)
	head := 0
	for head < min(len(old), len(now)) && old[head] == now[head] {
		head++
	}
	tail := 0
	for tail < min(len(old), len(now))-head && old[len(old)-1-tail] == now[len(now)-1-tail] {
		tail++
	}
	var diff []string
	add := func(mark string, lines []string) {
		for _, line := range lines {
			diff = append(diff, mark+cut(line))
		}
	}
	add("  ", old[max(0, head-contextLines):head])
	add("- ", old[head:len(old)-tail])
	add("+ ", now[head:len(now)-tail])
	add("  ", old[len(old)-tail:min(len(old), len(old)-tail+contextLines)])
	return diff
}

// cut keeps the end of a long line: that is where we add.
func cut(line string) string {
	if r := []rune(line); len(r) > lineRunes {
		return "…" + string(r[len(r)-lineRunes:])
	}
	return line
}

// lines is text with everything hidden that is not ours to show.
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

// hider copies a text and covers what is foreign.
type hider struct {
	text string
	ours []string
	b    strings.Builder
	at   int
}

// value copies v, which stands at path.
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

// literalOr copies v; a text of ours as its word of a command line is shown, or "" = as it is shown alone.
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

// cover copies blanks and marks between values, and hides what comments say.
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
