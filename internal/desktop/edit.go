package desktop

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/tailscale/hujson"
)

// object is a JSON object with ordered members.
type object []field

type field struct {
	name  string
	value any // string, []string, object
}

// set returns text with value at path. It creates missing objects, and changes nothing else.
func set(text string, path []string, value any) (string, error) {
	root, err := parse(text)
	if err != nil {
		return "", err
	}
	layout := layoutOf(text)
	at := root
	for i, key := range path {
		found, err := member(at, key)
		if err != nil {
			return "", err
		}
		if found == nil {
			return layout.insert(text, at, key, nest(path[i+1:], value)), nil
		}
		next := found.Value
		if literal, ok := next.Value.(hujson.Literal); i+1 == len(path) || ok && literal.Kind() == 'n' {
			indent := lineIndent(text, found.Name.StartOffset)
			with := layout.render(nest(path[i+1:], value), indent, strings.Contains(text[:next.StartOffset], "\n"))
			return text[:next.StartOffset] + with + text[next.EndOffset:], nil
		}
		at = next
	}
	return text, nil
}

// nest wraps value in an object for each key of path.
func nest(path []string, value any) any {
	for i := len(path) - 1; i >= 0; i-- {
		value = object{{path[i], value}}
	}
	return value
}

// drop returns text without the key at path, if it exists.
func drop(text string, path []string) (string, error) {
	at, err := parse(text)
	if err != nil {
		return "", err
	}
	for _, key := range path[:len(path)-1] {
		found, err := member(at, key)
		if err != nil || found == nil {
			return text, err
		}
		at = found.Value
	}
	found, err := member(at, path[len(path)-1])
	if err != nil || found == nil {
		return text, err
	}
	from, to := found.Name.StartOffset, found.Value.EndOffset
	if comma := commaBehind(text, to, at.EndOffset); comma >= 0 {
		to = comma + 1
	} else if before := previous(at, found); before != nil {
		comma := commaBehind(text, before.Value.EndOffset, from)
		text = text[:comma] + text[comma+1:]
		from, to = from-1, to-1
	}
	start := strings.LastIndexByte(text[:from], '\n') + 1
	end := to + len(text[to:])
	if i := strings.IndexByte(text[to:], '\n'); i >= 0 {
		end = to + i + 1
	}
	if strings.TrimSpace(text[start:from]) == "" && strings.TrimSpace(text[to:end]) == "" {
		from, to = start, end // nothing else is on the line
	} else if strings.HasPrefix(text[to:], " ") {
		to++
	}
	return text[:from] + text[to:], nil
}

// previous returns the member before m, or nil.
func previous(v hujson.Value, m *hujson.ObjectMember) *hujson.ObjectMember {
	members := v.Value.(*hujson.Object).Members
	for i := range members {
		if &members[i] == m && i > 0 {
			return &members[i-1]
		}
	}
	return nil
}

// commaBehind returns the offset of the comma between from and to, skipping comments, or -1.
func commaBehind(text string, from, to int) int {
	for i := from; i < to; i++ {
		switch {
		case text[i] == ',':
			return i
		case text[i] == '/':
			i = commentEnd(text, i)
		case strings.IndexByte(" \t\r\n", text[i]) < 0:
			return -1
		}
	}
	return -1
}

// layout is the formatting of a file.
type layout struct {
	step    string // one level of indentation
	newline string
}

func layoutOf(text string) layout {
	l := layout{"  ", "\n"}
	if i := strings.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		l.newline = "\r\n"
	}
	for line := range strings.Lines(text) {
		word := strings.TrimLeft(line, " \t")
		if n := len(line) - len(word); n > 0 && strings.HasPrefix(word, `"`) {
			l.step = line[:n]
			break
		}
	}
	return l
}

// lineIndent returns the indentation of the line at offset at.
func lineIndent(text string, at int) string {
	line := text[strings.LastIndexByte(text[:at], '\n')+1:]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// insert appends a member to object v, formatted like the others.
func (l layout) insert(text string, v hujson.Value, key string, value any) string {
	members := v.Value.(*hujson.Object).Members
	closing := v.EndOffset - 1
	outer := lineIndent(text, v.StartOffset)
	indent, lines := outer+l.step, strings.Contains(text[:v.EndOffset], "\n") || strings.TrimSpace(text) == "{}"
	comma := ""
	if n := len(members); n > 0 {
		last := members[n-1]
		lines = strings.Contains(text[v.StartOffset:last.Name.StartOffset], "\n")
		if lines {
			indent = lineIndent(text, last.Name.StartOffset)
		}
		lines = lines || strings.Contains(text[last.Value.EndOffset:closing], "\n") // a comment may end the line
		if commaBehind(text, last.Value.EndOffset, closing) >= 0 {
			comma = ","
		} else {
			text = text[:last.Value.EndOffset] + "," + text[last.Value.EndOffset:]
			closing++
		}
	}
	item := string(hujson.String(key)) + ": " + l.render(value, indent, lines)
	tail := len(strings.TrimRight(text[:closing], " \t\r\n"))
	switch {
	case lines && strings.Contains(text[tail:closing], "\n"):
		return text[:tail] + l.newline + indent + item + comma + text[tail:]
	case lines:
		return text[:tail] + l.newline + indent + item + comma + l.newline + outer + text[closing:]
	case len(members) > 0:
		return text[:tail] + " " + item + comma + text[tail:]
	}
	return text[:tail] + item + text[tail:]
}

// render renders a value. If lines is true, objects have one member per line.
func (l layout) render(value any, indent string, lines bool) string {
	switch value := value.(type) {
	case object:
		parts := make([]string, len(value))
		for i, f := range value {
			parts[i] = string(hujson.String(f.name)) + ": " + l.render(f.value, indent+l.step, lines)
		}
		if !lines || len(parts) == 0 {
			return "{" + strings.Join(parts, ", ") + "}"
		}
		return "{" + l.newline + indent + l.step + strings.Join(parts, ","+l.newline+indent+l.step) + l.newline + indent + "}"
	case []string:
		parts := make([]string, len(value))
		for i, s := range value {
			parts[i] = string(hujson.String(s))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return string(hujson.String(fmt.Sprint(value)))
}

// verify checks that after equals before with want at path.
func verify(before, after string, path []string, want map[string]any) error {
	return compare(before, after, path, func(inner map[string]any, key string) { inner[key] = want })
}

// verifyGone checks that after equals before without the key at path.
func verifyGone(before, after string, path []string) error {
	return compare(before, after, path, func(inner map[string]any, key string) { delete(inner, key) })
}

// compare checks that after equals before once change has been applied to the object that contains the last key of path.
func compare(before, after string, path []string, change func(inner map[string]any, key string)) error {
	var old, now map[string]any
	for _, one := range []struct {
		text string
		to   *map[string]any
	}{{before, &old}, {after, &now}} {
		v, err := parse(one.text)
		if err == nil {
			err = decode(v, one.to)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrByHand, err)
		}
	}
	inner := old
	for _, key := range path[:len(path)-1] {
		next, ok := inner[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			inner[key] = next
		}
		inner = next
	}
	change(inner, path[len(path)-1])
	if !reflect.DeepEqual(old, now) {
		return ErrByHand
	}
	return nil
}
