package namespace

import "strings"

// Some server libraries deviate from RFC 6570:
//
//   - {path*} is a list in the RFC, but in FastMCP it is the rest of a path, which may have several segments
//     (fastmcp/resources/template.py, build_regex);
//   - {user-id}, {?a, b}: the RFC allows neither hyphens in names nor spaces in lists, but the TypeScript SDK and FastMCP do.
//
// Such a template matches as its server intends.

// strictNames replaces characters that RFC 6570, section 2.3, does not allow in variable names with _.
func strictNames(text string) string {
	var b strings.Builder
	for {
		literal, rest, found := strings.Cut(text, "{")
		b.WriteString(literal)
		if !found {
			return b.String()
		}
		b.WriteByte('{')
		expression, after, closed := strings.Cut(rest, "}")
		if !closed {
			b.WriteString(rest)
			return b.String()
		}
		if expression != "" && strings.IndexByte("+#./;?&=,!@|", expression[0]) >= 0 {
			b.WriteByte(expression[0])
			expression = expression[1:]
		}
		for i, v := range strings.Split(expression, ",") {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strictName(strings.TrimSpace(v)))
		}
		b.WriteByte('}')
		text = after
	}
}

// strictName does what strictNames does, for one variable with its modifier.
func strictName(v string) string {
	name, star := strings.CutSuffix(v, "*")
	name, _, cut := strings.Cut(name, ":")
	if strings.ContainsAny(name, "{}*") {
		return v // never a valid name
	}
	strict := []byte(name)
	for i, c := range strict {
		if !idByte(c) && c != '_' && c != '%' || c == '-' || c == '~' {
			strict[i] = '_'
		}
	}
	switch {
	case cut:
		return string(strict) + v[len(name):]
	case star:
		return string(strict) + "*"
	}
	return string(strict)
}
