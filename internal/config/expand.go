package config

import (
	"fmt"
	"slices"
	"strings"
)

// sources resolve references.
type sources struct {
	env func(name string) (value string, set bool)

	// look resolves ${file:…}, ${keyring:…} and ${command:…}. Its errors are shown to users. If it is nil, such references are kept.
	look func(kind, what string) (string, error)
}

// Kinds of references other than variables.
const (
	fromFile    = "file"
	fromKeyring = "keyring"
	fromCommand = "command"
)

// expansion is the result of expanding a scalar.
type expansion struct {
	text    string
	refs    []reference
	values  []resolved
	missing []string // unset variables without a default
	failed  []string // messages about references that could not be resolved
	fault   string   // the syntax error, if any
}

// resolved is the value of a reference.
type resolved struct {
	variable string // name; "" for a value from a file, the keyring or a command
	value    string
}

// expand replaces `${VAR}` or `${env:VAR}`, optionally with `:-default` for an unset or empty variable, `${file:PATH}`, `${keyring:NAME}`,
// `${command:PROGRAM ARGS}` and `$$` (a dollar sign). Any other dollar sign is literal. Values are not expanded again.
func expand(s string, from sources) expansion {
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
			e.reference(&b, inner, from)
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

// reference appends the value of the reference ${inner}.
func (e *expansion) reference(b *strings.Builder, inner string, from sources) {
	kind, what, _ := strings.Cut(inner, ":")
	switch {
	case strings.HasPrefix(what, "-"): // a variable with a default, even if it is called file
		e.variable(b, inner, from.env)
	case kind == "env" && what != "":
		e.variable(b, what, from.env)
	case what != "" && slices.Contains([]string{fromFile, fromKeyring, fromCommand}, kind):
		e.lookUp(b, kind, what, from.look)
	default:
		e.variable(b, inner, from.env)
	}
}

// lookUp appends a value from a file, the keyring or a command.
func (e *expansion) lookUp(b *strings.Builder, kind, what string, look func(kind, what string) (string, error)) {
	if strings.Contains(what, "${") {
		e.fault = "a ${…} inside another"
		return
	}
	if look == nil {
		e.refs = append(e.refs, reference{kind, true})
		b.WriteString("${" + kind + ":" + what + "}")
		return
	}
	value, err := look(kind, what)
	e.refs = append(e.refs, reference{named(kind, what), err == nil})
	if err != nil {
		e.failed = append(e.failed, named(kind, what)+": "+err.Error())
		return
	}
	e.values = append(e.values, resolved{value: value})
	b.WriteString(value)
}

// named describes a reference for messages. For a command it names only the program, because arguments may be secret.
func named(kind, what string) string {
	if kind == fromCommand {
		if words, err := splitWords(what); err == nil && len(words) > 0 {
			what = words[0]
		}
	}
	return kind + " " + shown(what)
}

// variable appends the value of a variable.
func (e *expansion) variable(b *strings.Builder, inner string, env func(string) (string, bool)) {
	name, fallback, hasDefault := strings.Cut(inner, ":-")
	if !isVariable(name) {
		e.fault = fmt.Sprintf("%q is not a variable name", shown(name))
		return
	}
	if strings.Contains(fallback, "${") {
		e.fault = "a ${…} inside the default of another"
		return
	}
	value, set := env(name)
	e.refs = append(e.refs, reference{name, set})
	switch {
	case set && (value != "" || !hasDefault):
		e.values = append(e.values, resolved{name, value})
		b.WriteString(value)
	case hasDefault:
		b.WriteString(fallback)
	case !slices.Contains(e.missing, name):
		e.missing = append(e.missing, name)
	}
}

// Refers reports whether s contains a reference.
func Refers(s string) bool {
	return len(expand(s, sources{env: func(string) (string, bool) { return "", true }}).refs) > 0
}

// isVariable reports whether name is a variable name according to POSIX.
func isVariable(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
