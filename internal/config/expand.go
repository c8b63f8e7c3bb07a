package config

import (
	"fmt"
	"slices"
	"strings"
)

// sources answer what references stand for.
type sources struct {
	env func(name string) (value string, set bool)

	// look answers ${file:…}, ${keyring:…} and ${command:…}; its errors are for people. nil = such a reference stays as it is written.
	look func(kind, what string) (string, error)
}

// Kinds of references that are no variables.
const (
	fromFile    = "file"
	fromKeyring = "keyring"
	fromCommand = "command"
)

// expansion is a scalar with its `${…}` replaced.
type expansion struct {
	text    string
	refs    []reference
	values  []resolved
	missing []string // variables that are not set and have no default
	failed  []string // what could not be looked up, and why
	fault   string   // of the writing, not of the environment
}

// resolved is what a reference stands for.
type resolved struct {
	variable string // its name; "" = the value came from a file, the keyring or a command
	value    string
}

// expand replaces `${VAR}` or `${env:VAR}`, with `:-default` behind it where VAR may be not set or empty, `${file:PATH}`,
// `${keyring:NAME}`, `${command:PROGRAM ARGS}` and `$$` (a dollar sign). Any other dollar sign stands for itself. What
// a reference stands for is not looked at again.
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

// reference appends what inner stands for.
func (e *expansion) reference(b *strings.Builder, inner string, from sources) {
	kind, what, _ := strings.Cut(inner, ":")
	switch {
	case strings.HasPrefix(what, "-"): // the default of a variable, which may be called file
		e.variable(b, inner, from.env)
	case kind == "env" && what != "":
		e.variable(b, what, from.env)
	case what != "" && slices.Contains([]string{fromFile, fromKeyring, fromCommand}, kind):
		e.lookUp(b, kind, what, from.look)
	default:
		e.variable(b, inner, from.env)
	}
}

// lookUp appends what a file, the keyring or a command says.
func (e *expansion) lookUp(b *strings.Builder, kind, what string, look func(kind, what string) (string, error)) {
	if strings.Contains(what, "${") {
		e.fault = "a ${…} inside of another"
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

// named is how people read a reference: of a command only the program, as its arguments may be anything.
func named(kind, what string) string {
	if kind == fromCommand {
		if words, err := splitWords(what); err == nil && len(words) > 0 {
			what = words[0]
		}
	}
	return kind + " " + shown(what)
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
		e.values = append(e.values, resolved{name, value})
		b.WriteString(value)
	case hasDefault:
		b.WriteString(fallback)
	case !slices.Contains(e.missing, name):
		e.missing = append(e.missing, name)
	}
}

// Refers tells whether a text of a configuration names a variable, or something else that stands for a value.
func Refers(s string) bool {
	return len(expand(s, sources{env: func(string) (string, bool) { return "", true }}).refs) > 0
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
