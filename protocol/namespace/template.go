package namespace

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/yosida95/uritemplate/v3"
)

// Bounds on matching. A regular expression takes time linear in its size and in the size of the URI.
const (
	maxTemplateBytes     = 1024
	maxTemplateVariables = 32
	maxMatchedURI        = 8 << 10
)

// Template is a URI template (RFC 6570, levels 1 to 4) compiled for matching. It is immutable and safe
// for concurrent use.
type Template struct {
	text     string
	prefix   string // prefix of every match
	literals int
	parsed   *uritemplate.Template
	match    *regexp.Regexp
	steps    int // maximum steps of match per byte of a URI
	pieces   []piece
	runs     []string          // literals in every match after prefix, in this order
	suffix   string            // suffix of every match
	ids      func() *idPattern // compiled on first use
}

// piece is a literal or an expression.
type piece struct {
	literal string
	op      byte // operator of an expression, 's' for none; 0 for a literal
	vars    []variable
}

type variable struct {
	name    string
	explode bool
}

// ParseTemplate compiles a template. It fails for invalid templates (RFC 6570, but with the variable names that servers use,
// see template_loose.go), and for more than 1024 bytes or 32 variables.
func ParseTemplate(text string) (*Template, error) {
	if len(text) > maxTemplateBytes {
		return nil, fmt.Errorf("parse template: %d bytes, want at most %d", len(text), maxTemplateBytes)
	}
	strict := strictNames(text)
	parsed, err := uritemplate.New(strict)
	if err != nil {
		return nil, fmt.Errorf("parse template %q: %w", text, err)
	}
	t := &Template{text: text, parsed: parsed, pieces: splitTemplate(text)}
	variables := 0
	for _, p := range t.pieces {
		t.literals += utf8.RuneCountInString(p.literal)
		variables += len(p.vars)
	}
	if variables > maxTemplateVariables {
		return nil, fmt.Errorf("parse template %q: %d variables, want at most %d", text, variables, maxTemplateVariables)
	}
	pattern := matchPattern(t.pieces)
	if t.match, err = regexp.Compile(pattern); err != nil {
		return nil, fmt.Errorf("parse template %q: %w", text, err)
	}
	if t.steps, err = stepsOf(pattern); err != nil {
		return nil, fmt.Errorf("parse template %q: %w", text, err)
	}
	t.findLiterals()
	t.ids = sync.OnceValue(func() *idPattern { return compileIDs(splitTemplate(strict)) })
	return t, nil
}

// Text returns the template's text.
func (t *Template) Text() string { return t.text }

// Literals returns the number of characters outside expressions. If several templates match, the template with the most
// such characters wins.
func (t *Template) Literals() int { return t.literals }

// Prefix returns the prefix of every matching URI.
func (t *Template) Prefix() string { return t.prefix }

// Effort returns the maximum number of steps that Match takes, about 10 ns each, or 0 if a quick check shows that uri
// does not match.
func (t *Template) Effort(uri string) int {
	if !t.mayMatch(uri) {
		return 0
	}
	return t.steps * (len(uri) + 1)
}

// mayMatch reports whether uri is short enough and contains the template's literal text in order.
func (t *Template) mayMatch(uri string) bool {
	if len(uri) > maxMatchedURI || !strings.HasPrefix(uri, t.prefix) {
		return false
	}
	rest, ok := strings.CutSuffix(uri[len(t.prefix):], t.suffix)
	if !ok {
		return false
	}
	for _, run := range t.runs {
		if _, rest, ok = strings.Cut(rest, run); !ok {
			return false
		}
	}
	return true
}

// Match reports whether uri can be an expansion of the template. It is lenient: query parameters may be in any order, and
// characters that should be percent-encoded may be unencoded. URIs of more than 8 KiB never match.
func (t *Template) Match(uri string) bool {
	return t.mayMatch(uri) && t.match.MatchString(uri)
}

// splitTemplate splits a valid template into pieces.
func splitTemplate(text string) []piece {
	var pieces []piece
	for text != "" {
		literal, rest, found := strings.Cut(text, "{")
		if literal != "" {
			pieces = append(pieces, piece{literal: literal})
		}
		if !found {
			break
		}
		expression, after, _ := strings.Cut(rest, "}")
		p := piece{op: 's'}
		if strings.IndexByte("+#./;?&", expression[0]) >= 0 {
			p.op, expression = expression[0], expression[1:]
		}
		for v := range strings.SplitSeq(expression, ",") {
			name, explode := strings.CutSuffix(strings.TrimSpace(v), "*")
			name, _, _ = strings.Cut(name, ":") // a prefix modifier only shortens values
			p.vars = append(p.vars, variable{name, explode})
		}
		pieces = append(pieces, p)
		text = after
	}
	return pieces
}

// matchPattern returns the regular expression that matches all expansions.
func matchPattern(pieces []piece) string {
	var b strings.Builder
	b.WriteString(`^(?s:`)
	for _, p := range pieces {
		if p.op == 0 {
			writeLiteral(&b, p.literal)
		} else {
			writeExpression(&b, p)
		}
	}
	b.WriteString(`)$`)
	return b.String()
}

// writeLiteral writes a pattern for a literal. A non-ASCII character may also be percent-encoded in the URI. The
// hexadecimal digits of an encoded character may have either case.
func writeLiteral(b *strings.Builder, text string) {
	for i, r := range text {
		switch {
		case r >= utf8.RuneSelf:
			fmt.Fprintf(b, "(?:%s|(?i:", string(r))
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(b, "%%%02X", c)
			}
			b.WriteString("))")
		case r == '%':
			fmt.Fprintf(b, "%%(?i:%s)", text[i+1:i+3])
		case i > 0 && text[i-1] == '%', i > 1 && text[i-2] == '%': // written together with the %
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
}

// writeExpression writes a pattern for an expression. The pattern matches the empty string, because all variables may be
// undefined.
func writeExpression(b *strings.Builder, p piece) {
	names := make([]string, len(p.vars))
	for i, v := range p.vars {
		names[i] = regexp.QuoteMeta(v.name)
	}
	name := "(?:" + strings.Join(names, "|") + ")"
	exploded := slices.ContainsFunc(p.vars, func(v variable) bool { return v.explode })
	switch p.op {
	case '+':
		b.WriteString(`.*`)
	case '#':
		b.WriteString(`(?:#.*)?`)
	case '.':
		b.WriteString(`(?:\.[^/?#]*)?`)
	case '/':
		if exploded {
			b.WriteString(`(?:/[^/?#]*)*`)
		} else {
			fmt.Fprintf(b, `(?:/[^/?#]*){0,%d}`, len(p.vars))
		}
	case ';':
		if exploded { // a map: its keys may have any names
			name = `[^;/?#=]*`
		}
		fmt.Fprintf(b, `(?:;%s(?:=[^;/?#]*)?)*`, name)
	case '?':
		if exploded {
			name = `[^&#=]*`
		}
		fmt.Fprintf(b, `(?:\?%s(?:=[^&#]*)?(?:&%s(?:=[^&#]*)?)*)?`, name, name)
	case '&':
		if exploded {
			name = `[^&#=]*`
		}
		fmt.Fprintf(b, `(?:&%s(?:=[^&#]*)?)*`, name)
	default:
		if exploded { // a list in RFC 6570, but several path segments for servers (template_loose.go)
			b.WriteString(`[^?#]*`)
		} else {
			b.WriteString(`[^/?#]*`)
		}
	}
}

// findLiterals sets the literals for mayMatch. It omits text that has several spellings.
func (t *Template) findLiterals() {
	for i, p := range t.pieces {
		plain := plainPrefix(p.literal)
		switch {
		case i == 0:
			t.prefix = plain
		case plain == "":
		case i == len(t.pieces)-1 && plain == p.literal:
			t.suffix = plain
		default:
			t.runs = append(t.runs, plain)
		}
	}
}

// stepsOf counts the instructions of a compiled pattern. Each may run once for every byte of a URI.
func stepsOf(pattern string) (int, error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, err
	}
	return len(program.Inst), nil
}

// plainPrefix returns the prefix of a literal that has only one spelling.
func plainPrefix(literal string) string {
	for i := range len(literal) {
		if literal[i] == '%' || literal[i] >= utf8.RuneSelf {
			return literal[:i]
		}
	}
	return literal
}
