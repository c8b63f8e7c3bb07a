package desktop

import (
	"fmt"
	"slices"

	"goblin-actor/internal/config"
	"goblin-actor/internal/pattern"
	"goblin-actor/internal/secret"
)

// namedBefore matches a name directly before a value: a flag, a JSON key or a query parameter.
var namedBefore = pattern.Lazy(`([A-Za-z][A-Za-z0-9_-]*)["']?\s*[=:]\s*["']?(?:(?i:bearer|basic|token) +)?$`)

// Conceal replaces likely secrets in env, headers, arguments and address of an entry with references. It returns the
// variables for them, in the order of the entry. taken returns the value of a variable that is already in use. Conceal
// does not use its name for a different value.
func Conceal(e *config.Entry, taken func(name string) (value string, ok bool)) []config.Variable {
	c := concealer{entry: e.Name, taken: taken}
	for i, v := range e.Env {
		e.Env[i].Value = secret.Move(v.Value, secret.Pair(v.Name, v.Value), func(value, _ string) string { return c.refer(keepName(v.Name), value) })
	}
	for i, v := range e.Headers {
		e.Headers[i].Value = secret.Move(v.Value, secret.Pair(v.Name, v.Value), func(value, _ string) string {
			return c.refer(variableName(e.Name+"_"+v.Name), value)
		})
	}
	flag := ""
	for i, shown := range secret.Arguments(e.Args) {
		word := e.Args[i]
		e.Args[i] = secret.Move(word, shown, func(value, before string) string { return c.refer(c.nameFor(before, flag), value) })
		flag = ""
		if namedFlag().MatchString(word) {
			flag = word
		}
	}
	e.URL = secret.Move(e.URL, secret.URL(e.URL), func(value, before string) string { return c.refer(c.nameFor(before, "token"), value) })
	return c.moved
}

// namedFlag matches a flag that names the argument after it.
var namedFlag = pattern.Lazy(`^--[A-Za-z][A-Za-z0-9-]{1,30}$`)

type concealer struct {
	entry string
	taken func(string) (string, bool)
	moved []config.Variable
}

// nameFor returns a variable name for a value, derived from before, the text before it in the same string, or else from
// flag. An empty flag means "secret".
func (c *concealer) nameFor(before, flag string) string {
	if found := namedBefore().FindStringSubmatch(before); found != nil {
		flag = found[1]
	}
	if flag == "" {
		flag = "secret"
	}
	return variableName(c.entry + "_" + trimDashes(flag))
}

func trimDashes(s string) string {
	for len(s) > 0 && s[0] == '-' {
		s = s[1:]
	}
	return s
}

// refer returns a reference to a variable for value, called name if that is free.
func (c *concealer) refer(name, value string) string {
	value = config.Expand(value, func(string) (string, bool) { return "", false }) // $$ is a dollar sign
	own := variableName(c.entry + "_" + name)
	for n := 1; ; n++ {
		try := name
		switch {
		case n == 2:
			try = own
		case n > 2:
			try = fmt.Sprintf("%s_%d", own, n-1)
		}
		if has, ok := c.value(try); ok && has != value {
			continue
		}
		if one := (config.Variable{Name: try, Value: value}); !slices.Contains(c.moved, one) {
			c.moved = append(c.moved, one)
		}
		return "${" + try + "}"
	}
}

// value returns the value of a variable that is in use already, or was added for this entry.
func (c *concealer) value(name string) (string, bool) {
	for _, v := range c.moved {
		if v.Name == name {
			return v.Value, true
		}
	}
	return c.taken(name)
}
