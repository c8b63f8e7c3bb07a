package config

import (
	"encoding/json"
	"slices"
	"strings"

	"goblin-actor/internal/pattern"
)

// bare matches text that needs no quotes in YAML, inside or outside brackets.
var bare = pattern.Lazy(`^(--?|\.{0,2}/)?[A-Za-z_][A-Za-z0-9_./+@-]*$|^https?://[A-Za-z0-9][A-Za-z0-9._/:-]*[A-Za-z0-9/]$`)

// words are strings that need quotes because YAML may read them as other types.
var words = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// renderBlock renders a mapping in block style, with lists in brackets.
func renderBlock(n *node, indent, step string) []string {
	var lines []string
	for _, m := range n.members {
		head := indent + renderKey(m.key, false) + ":"
		if m.value.kind == mapping && len(m.value.members) > 0 {
			lines = append(append(lines, head), renderBlock(m.value, indent+step, step)...)
			continue
		}
		lines = append(lines, head+" "+renderFlow(m.value, false))
	}
	return lines
}

// renderFlow renders a value on one line. quotes selects JSON.
func renderFlow(n *node, quotes bool) string {
	var parts []string
	switch n.kind {
	case list:
		for _, item := range n.items {
			parts = append(parts, renderFlow(item, quotes))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case mapping:
		for _, m := range n.members {
			parts = append(parts, renderKey(m.key, quotes)+": "+renderFlow(m.value, quotes))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return renderScalar(n, quotes)
}

// renderJSON renders a mapping with one member per line, and lists on one line.
func renderJSON(n *node, indent, step string) string {
	if n.kind != mapping || len(n.members) == 0 {
		return renderFlow(n, true)
	}
	var lines []string
	for _, m := range n.members {
		lines = append(lines, indent+step+renderKey(m.key, true)+": "+renderJSON(m.value, indent+step, step))
	}
	return "{\n" + strings.Join(lines, ",\n") + "\n" + indent + "}"
}

func renderKey(key string, quotes bool) string { return renderScalar(textNode(key), quotes) }

func renderScalar(n *node, quotes bool) string {
	if n.kind == boolean {
		return n.text
	}
	if !quotes && bare().MatchString(n.text) && !slices.Contains(words, strings.ToLower(n.text)) {
		return n.text
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(n.text); err != nil {
		return `""` // a string can always be encoded
	}
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}
