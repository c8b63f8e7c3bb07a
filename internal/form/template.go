package form

import (
	"net/url"
	"strings"
)

// expression is a part of a URI template that is enclosed in braces. RFC 6570.
type expression struct {
	start, end int // offsets of the opening brace and after the closing brace
	operator   byte
	names      []string
}

// operators are the operators that RFC 6570 defines. An operator precedes the names of an expression.
const operators = "+#./;?&"

// expressions returns the expressions of a template.
func expressions(template string) []expression {
	var all []expression
	for at := 0; ; {
		open := strings.IndexByte(template[at:], '{')
		if open < 0 {
			break
		}
		open += at
		length := strings.IndexByte(template[open:], '}')
		if length < 0 {
			break
		}
		e := expression{start: open, end: open + length + 1}
		inner := template[open+1 : open+length]
		if inner != "" && strings.IndexByte(operators, inner[0]) >= 0 {
			e.operator, inner = inner[0], inner[1:]
		}
		for name := range strings.SplitSeq(inner, ",") {
			name, _, _ = strings.Cut(strings.TrimSuffix(name, "*"), ":")
			if name != "" {
				e.names = append(e.names, name)
			}
		}
		all = append(all, e)
		at = e.end
	}
	return all
}

// TemplateInputs returns the variables of a URI template as inputs. A variable may be left out if it occurs in query
// expressions only.
func TemplateInputs(template string) Inputs {
	required := map[string]bool{}
	var names []string
	for _, e := range expressions(template) {
		for _, name := range e.names {
			if _, known := required[name]; !known {
				names = append(names, name)
			}
			required[name] = required[name] || e.operator != '?' && e.operator != '&'
		}
	}
	in := Inputs{Schema: Schema{Properties: map[string]Schema{}}, Omitted: max(0, len(names)-maxFields)}
	for _, name := range names[:len(names)-in.Omitted] {
		in.add(Input{Name: name, Kind: "string", Required: required[name]})
	}
	return in
}

// Expand fills the variables of a URI template. Variables with an empty text, and those without an input, are left out.
// A prefix modifier such as ":3" is ignored.
func (in *Inputs) Expand(template string, texts []string) string {
	values := map[string]string{}
	for i, text := range texts {
		values[in.All[i].Name] = text
	}
	var b strings.Builder
	at := 0
	for _, e := range expressions(template) {
		b.WriteString(template[at:e.start])
		b.WriteString(e.expand(values))
		at = e.end
	}
	b.WriteString(template[at:])
	return b.String()
}

// expand returns the text that replaces the expression.
func (e *expression) expand(values map[string]string) string {
	first, between, named := "", ",", false
	switch e.operator {
	case '#':
		first = "#"
	case '.', '/':
		first, between = string(e.operator), string(e.operator)
	case ';':
		first, between, named = ";", ";", true
	case '?', '&':
		first, between, named = string(e.operator), "&", true
	}
	var parts []string
	for _, name := range e.names {
		text := values[name]
		if text == "" {
			continue
		}
		if e.operator == '+' || e.operator == '#' {
			text = escaped(text, "!#$&'()*+,/:;=?@[]")
		} else {
			text = escaped(text, "")
		}
		if named {
			text = name + "=" + text
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	return first + strings.Join(parts, between)
}

// escaped returns text with all characters percent-encoded except the unreserved ones of RFC 3986 and those in also.
func escaped(text, also string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if strings.IndexByte(also, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteString(strings.ReplaceAll(url.QueryEscape(string([]byte{c})), "+", "%20"))
	}
	return b.String()
}
