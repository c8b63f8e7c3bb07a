package config

import (
	"fmt"
	"slices"
	"strings"
)

// expansion is a scalar with its `${…}` replaced.
type expansion struct {
	text    string
	refs    []reference
	missing []string // variables that are not set and have no default
	fault   string   // of the writing, not of the environment
}

// expand replaces `${VAR}`, `${VAR:-default}` (when VAR is not set or empty) and `$$` (a dollar sign). Any other dollar
// sign stands for itself. What a variable holds is not looked at again.
func expand(s string, env func(string) (string, bool)) expansion {
	e := expansion{text: s}
	if !strings.Contains(s, "$") {
		return e
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "$")
		b.WriteString(before)
		switch {
		case !found:
			e.text = b.String()
			return e
		case strings.HasPrefix(rest, "$"):
			b.WriteByte('$')
			s = rest[1:]
		case strings.HasPrefix(rest, "{"):
			inner, after, closed := strings.Cut(rest[1:], "}")
			if !closed {
				e.fault = "${ without }"
				return e
			}
			e.variable(&b, inner, env)
			if e.fault != "" {
				return e
			}
			s = after
		default:
			b.WriteByte('$')
			s = rest
		}
	}
}

// variable appends the value of the variable inner names.
func (e *expansion) variable(b *strings.Builder, inner string, env func(string) (string, bool)) {
	name, fallback, hasDefault := strings.Cut(inner, ":-")
	if !isVariable(name) {
		e.fault = fmt.Sprintf("%q is not the name of a variable", shown(name))
		return
	}
	if strings.Contains(fallback, "${") {
		e.fault = "a ${…} inside of another's default"
		return
	}
	value, set := env(name)
	e.refs = append(e.refs, reference{name, set})
	switch {
	case set && (value != "" || !hasDefault):
		b.WriteString(value)
	case hasDefault:
		b.WriteString(fallback)
	case !slices.Contains(e.missing, name):
		e.missing = append(e.missing, name)
	}
}

// Refers tells whether a text of a configuration names a variable.
func Refers(s string) bool {
	return len(expand(s, func(string) (string, bool) { return "", true }).refs) > 0
}

// isVariable tells whether name is one by POSIX.
func isVariable(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
