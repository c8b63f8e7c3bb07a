package namespace

import (
	"regexp"
	"strings"

	"github.com/yosida95/uritemplate/v3"
)

// idPattern matches the underscore ids of a template's expansions, without the server prefix.
type idPattern struct {
	match *regexp.Regexp
	names []string // the variable of each capture group
}

// MatchUnderscore reports whether ExpandUnderscore finds a URI.
func (t *Template) MatchUnderscore(server, id string) bool {
	_, ok := t.ExpandUnderscore(server, id)
	return ok
}

// ExpandUnderscore returns the expansion whose underscore id is id. A _ in an id can represent many characters, so
// every _ must belong to a literal of the template: ExpandUnderscore reports false unless all values consist of
// [A-Za-z0-9.~-]. Then the URI is unambiguous.
//
//	mcp://database/{table}/{id}: db_mcp___database_users_42  →  mcp://database/users/42
func (t *Template) ExpandUnderscore(server, id string) (uri string, ok bool) {
	rest, ok := strings.CutPrefix(id, server+"_")
	if !ok || len(id) > maxMatchedURI {
		return "", false
	}
	p := t.ids()
	captures := p.match.FindStringSubmatch(rest)
	if captures == nil {
		return "", false
	}
	values := uritemplate.Values{}
	for i, name := range p.names {
		value := captures[i+1]
		if known := values.Get(name); known.Valid() && known.String() != value {
			return "", false
		}
		values.Set(name, uritemplate.String(value))
	}
	uri, err := t.parsed.Expand(values)
	if err != nil || UnderscoreID(server, uri) != id || !t.Match(uri) {
		return "", false
	}
	return uri, true
}

// EffortOfID returns the maximum number of steps of ExpandUnderscore, as Effort does for Match.
func (t *Template) EffortOfID(id string) int { return 2 * t.steps * (len(id) + 1) }

// compileIDs compiles the pattern of the pieces with all variables defined.
func compileIDs(pieces []piece) *idPattern {
	w := idWriter{}
	for i, p := range pieces {
		if p.op == 0 {
			literal := p.literal
			if n := schemeLength(literal); i == 0 && n > 0 {
				w.literal(literal[:n])
				w.pattern.WriteString("___")
				w.begun, w.gap = false, false
				literal = literal[n+1:]
			}
			w.literal(literal)
			continue
		}
		for j, v := range p.vars {
			w.literal(separator(p.op, j, v.name))
			w.variable(v.name)
		}
	}
	return &idPattern{match: regexp.MustCompile("^" + w.pattern.String() + "$"), names: w.names}
}

// separator returns the text before the variable with the given index in an expression.
func separator(op byte, number int, name string) string {
	switch op {
	case '.', '/':
		return string(op)
	case ';', '&':
		return string(op) + name + "="
	case '?':
		return string("?&"[min(number, 1)]) + name + "="
	case '#':
		return string("#,"[min(number, 1)])
	}
	return ",,"[:min(number, 1)]
}

// idWriter writes a pattern in the same way as UnderscoreID writes ids.
type idWriter struct {
	pattern    strings.Builder
	names      []string
	begun, gap bool // something was written; a _ is pending
}

func (w *idWriter) literal(s string) {
	for i := range len(s) {
		if !idByte(s[i]) {
			w.gap = true
			continue
		}
		w.flush()
		w.pattern.WriteString(regexp.QuoteMeta(s[i : i+1]))
	}
}

func (w *idWriter) variable(name string) {
	w.flush()
	w.pattern.WriteString("([A-Za-z0-9.~-]+)")
	w.names = append(w.names, name)
}

func (w *idWriter) flush() {
	if w.gap && w.begun {
		w.pattern.WriteByte('_')
	}
	w.begun, w.gap = true, false
}
