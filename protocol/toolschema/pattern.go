package toolschema

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"strings"

	"goblin-actor/protocol/rawjson"
)

// Bounds on patterns. JSON Schema uses ECMA-262 regular expressions, most of which mean the same in Go. Expressions
// that could differ are not checked.
const (
	maxPattern      = 1 << 10 // bytes of the source
	maxInstructions = 1000
	maxMatchedText  = 4 << 10 // bytes
	stepsPerWork    = 10
)

// pattern is a regular expression in a schema.
type pattern struct {
	source       string
	expression   *regexp.Regexp // nil if the package does not check it
	instructions int
}

// differs lists constructs that have different meanings in ECMA-262 and Go.
var differs = []string{`\A`, `\z`, `\Z`, `\Q`, `\E`, `\a`, `\C`, `[:`, `(?P`, `(?i`, `(?m`, `(?s`, `(?U`, `(?-`, `\x{`, `\p`, `\P`, `\c`, `\u`, `\k`, `[^]`, `[]`}

func compilePattern(source string) *pattern {
	p := &pattern{source: source, instructions: 1}
	if len(source) > maxPattern || !rawjson.IsASCII([]byte(source)) {
		return p
	}
	for _, construct := range differs {
		if strings.Contains(source, construct) {
			return p
		}
	}
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return p
	}
	if p.instructions = instructionsOf(tree); p.instructions > maxInstructions {
		return p
	}
	p.expression, _ = regexp.Compile(source) // it was parsed above
	return p
}

// instructionsOf estimates the size of the compiled program. Nested repetitions multiply.
func instructionsOf(tree *syntax.Regexp) int {
	n := 2 + len(tree.Rune)
	for _, sub := range tree.Sub {
		n = min(n+instructionsOf(sub), maxInstructions+1)
	}
	if tree.Op == syntax.OpRepeat {
		n *= max(tree.Min, tree.Max, 1)
	}
	return min(n, maxInstructions+1)
}

// match reports whether a text contains a match of the pattern. The dot and \s treat some control characters differently in
// ECMA-262, so text with these is not checked.
func (c *argumentCheck) match(p *pattern, text []byte) verdict {
	c.left -= 1 + len(text)*p.instructions/stepsPerWork
	switch {
	case p.expression == nil || len(text) > maxMatchedText || c.left <= 0 || !rawjson.IsASCII(text) || bytes.ContainsAny(text, "\r\v"):
		return unsure
	case p.expression.Match(text):
		return fits
	}
	return refuted
}
