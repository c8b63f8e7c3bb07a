package desktop

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"goblin-actor/internal/config"
	"goblin-actor/internal/pattern"
)

// translator converts values of a client's entry to the gateway's syntax.
type translator struct {
	dialect dialect
	host    Host
	found   *Found
}

var variable = pattern.Lazy(`\$\{([^{}]*)\}`)

var shellName = pattern.Lazy(`^[A-Za-z_][A-Za-z0-9_]*(:-[^$]*)?$`)

// text converts the variables in s. It escapes literal text that the gateway would read as a variable.
func (t *translator) text(s string) string {
	var b strings.Builder
	last := 0
	for _, at := range variable().FindAllStringSubmatchIndex(s, -1) {
		ours, ok := t.variable(s[at[2]:at[3]])
		if !ok {
			continue
		}
		b.WriteString(strings.TrimSuffix(escape(s[last:at[0]]+"$"), "$") + ours)
		last = at[1]
	}
	return b.String() + escape(s[last:])
}

// escape doubles dollar signs that the gateway would interpret.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if s[i] == '$' && i+1 < len(s) && (s[i+1] == '$' || s[i+1] == '{') {
			b.WriteByte('$')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// variable converts ${inner}. ok is false if it is literal text, or if only the client can resolve it; then the server
// is marked as Skipped.
func (t *translator) variable(inner string) (ours string, ok bool) {
	kind, name, named := strings.Cut(inner, ":")
	switch {
	case t.dialect == noVariables:
		return "", false
	case t.dialect == shellVariables:
		return "${" + inner + "}", shellName().MatchString(inner)
	case named && kind == "env" && shellName().MatchString(name) && !strings.Contains(name, ":"):
		return "${" + name + "}", true
	case inner == "userHome" && t.host.OS == "windows":
		return "${USERPROFILE}", true
	case inner == "userHome":
		return "${HOME}", true
	case inner == "pathSeparator" || inner == "/":
		return t.host.separator(), true
	case named && kind == "input" && t.dialect == editorVars:
		name = variableName(name)
		t.note(fmt.Sprintf("set the variable %s; the client itself would prompt for it", name))
		return "${" + name + "}", true
	}
	t.found.Skipped = fmt.Sprintf("it uses ${%s}, which only the client supports", clip(inner))
	return "", false
}

// clip shortens text for a message.
func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

func (t *translator) note(s string) {
	if !slices.Contains(t.found.Notes, s) {
		t.found.Notes = append(t.found.Notes, s)
	}
}

// variables converts env or headers. keys gives their order.
func (t *translator) variables(keys []string, values map[string]json.RawMessage) []config.Variable {
	if len(keys) != len(values) { // the values come from a different object
		keys = slices.Sorted(maps.Keys(values))
	}
	var list []config.Variable
	for _, key := range keys {
		if raw := values[key]; string(raw) != "null" {
			list = append(list, config.Variable{Name: key, Value: t.text(scalar(raw))})
		}
	}
	return list
}

// variableName converts s to a variable name: api-key becomes API_KEY.
func variableName(s string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, s)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name
}

// Refer replaces each value of env and headers by a reference to a variable, so that no secret is written to a
// configuration. It skips empty values and values that contain a reference. It returns the variables that must be set.
// taken maps the variables in use to their values; Refer adds to it.
func Refer(e *config.Entry, taken map[string]string) []string {
	var names []string
	refer := func(list []config.Variable, nameOf func(string) string) {
		for i, v := range list {
			if v.Value == "" || strings.Contains(v.Value, "${") {
				continue
			}
			scheme, secret, hasScheme := strings.Cut(v.Value, " ")
			if !hasScheme || !slices.Contains([]string{"bearer", "basic", "token"}, strings.ToLower(scheme)) {
				scheme, secret = "", v.Value
			} else {
				scheme += " "
			}
			name := nameOf(v.Name)
			name = freeName(name, variableName(e.Name+"_"+v.Name), secret, taken)
			taken[name] = secret
			list[i].Value = scheme + "${" + name + "}"
			names = append(names, name)
		}
	}
	refer(e.Env, keepName)
	refer(e.Headers, func(s string) string { return variableName(e.Name + "_" + s) })
	return names
}

// freeName returns name if no other value is stored under it, otherwise longer, if necessary with a number.
func freeName(name, longer, value string, taken map[string]string) string {
	for n := 2; ; n++ {
		if other, used := taken[name]; !used || other == value {
			return name
		}
		name = longer
		if n > 2 {
			name = fmt.Sprintf("%s_%d", longer, n-1)
		}
	}
}

// keepName returns s if it is a valid variable name, and otherwise converts it.
func keepName(s string) string {
	if shellName().MatchString(s) && !strings.Contains(s, ":") {
		return s
	}
	return variableName(s)
}
