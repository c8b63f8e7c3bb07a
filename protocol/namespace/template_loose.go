package namespace

import "strings"

// Servers write templates for the matcher of their own library, and not all of these keep to RFC 6570:
//
//   - {path*} is a list by the RFC; FastMCP means the rest of a path, of several segments (fastmcp/resources/template.py, build_regex);
//   - {user-id}, {?a, b}: the RFC's names have no hyphens and lists no spaces; the TypeScript SDK and FastMCP take them.
//
// Such a template matches what its server means by it.

// strictNames puts _ for what RFC 6570 does not allow in the names of a template's variables. // RFC 6570, 2.3
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

// strictName is strictNames for one variable and its modifier.
func strictName(v string) string {
	name, star := strings.CutSuffix(v, "*")
	name, _, cut := strings.Cut(name, ":")
	if strings.ContainsAny(name, "{}*") {
		return v // not a name by anybody's rules
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
