package toolschema

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"goblin-actor/protocol/rawjson"
)

// jsonTypes is a set of JSON Schema types.
type jsonTypes uint8

const (
	typeArray jsonTypes = 1 << iota
	typeBoolean
	typeInteger
	typeNull
	typeNumber
	typeObject
	typeString
)

// String lists the types, as in "integer or string".
func (k jsonTypes) String() string {
	var names []string
	for i, name := range schemaTypes {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// exactDigits is the maximum number of characters of a number that is compared as a float64. Every integer of that length has
// an exact float64.
const exactDigits = 15

// numberOf parses a number and reports whether its float64 is exact enough to compare.
func numberOf(text []byte) (value float64, exact bool) {
	if len(text) > exactDigits {
		return 0, false
	}
	whole, digits := int64(0), bytes.TrimPrefix(text, []byte("-"))
	for _, b := range digits {
		if b < '0' || b > '9' {
			f, err := strconv.ParseFloat(string(text), 64)
			tiny := math.Abs(f) < math.SmallestNonzeroFloat32 && bytes.ContainsAny(text, "eE") // 1e-400 becomes 0
			return f, err == nil && !tiny
		}
		whole = 10*whole + int64(b-'0')
	}
	if len(digits) < len(text) {
		whole = -whole
	}
	return float64(whole), true
}

// typesOf returns the types of a value, or 0 for a number that is too long to classify.
func typesOf(text []byte) jsonTypes {
	switch text[0] {
	case '{':
		return typeObject
	case '[':
		return typeArray
	case '"':
		return typeString
	case 't', 'f':
		return typeBoolean
	case 'n':
		return typeNull
	}
	if !bytes.ContainsAny(text, ".eE") {
		return typeNumber | typeInteger
	}
	switch f, exact := numberOf(text); {
	case !exact:
		return 0
	case f == math.Trunc(f):
		return typeNumber | typeInteger
	}
	return typeNumber
}

// textRules holds the keywords of a schema for strings.
type textRules struct {
	minLength, maxLength int // numbers of characters; maxLength -1 means no maximum
	pattern              *pattern
}

// value checks type, enum, const, and the keywords for strings and numbers.
func (c *argumentCheck) value(n *node, at rawjson.Span) verdict {
	text, v := at.Of(c.raw), fits
	if n.never {
		return c.fault("no value is allowed here")
	}
	if n.nullable && text[0] == 'n' {
		return unsure
	}
	if n.types != 0 {
		switch is := typesOf(text); {
		case is == 0 && n.types&(typeNumber|typeInteger) != 0:
			v = unsure
		case is&n.types == 0:
			return c.wrongType(n, at)
		}
	}
	if n.enum != nil {
		v = v.and(c.oneOfValues(n, at))
	}
	switch {
	case text[0] == '"' && n.text != nil:
		v = v.and(c.text(n.text, text))
	case isNumber(text[0]) && len(n.bounds) > 0:
		v = v.and(c.number(n, text))
	}
	return v
}

func (c *argumentCheck) wrongType(n *node, at rawjson.Span) verdict {
	if c.quiet > 0 {
		return refuted
	}
	return c.fault("want " + n.types.String() + ", found " + rawjson.TypeName(c.raw, at))
}

// oneOfValues checks that the value is in the enum.
func (c *argumentCheck) oneOfValues(n *node, at rawjson.Span) verdict {
	best := refuted
	for _, one := range n.enum {
		if !c.pay(one) {
			return unsure
		}
		if best = min(best, sameValue(at.Of(c.raw), one.Of(c.schema))); best == fits {
			return fits
		}
	}
	if best == refuted && c.quiet == 0 {
		return c.fault("want " + c.listed(n.enum) + "; found another value")
	}
	return best
}

// listed formats the allowed values of a schema.
func (c *argumentCheck) listed(values []rawjson.Span) string {
	const most = 20
	names := make([]string, 0, most)
	for _, one := range values[:min(len(values), most)] {
		names = append(names, excerpt(one.Of(c.schema)))
	}
	text := strings.Join(names, ", ")
	switch {
	case len(values) > most:
		return "one of " + text + ", …"
	case len(values) > 1:
		return "one of " + text
	}
	return text
}

// sameValue compares two JSON values.
func sameValue(a, b []byte) verdict {
	switch {
	case bytes.Equal(a, b):
		return fits
	case isNumber(a[0]) && isNumber(b[0]):
		x, exactX := numberOf(a)
		y, exactY := numberOf(b)
		if !exactX || !exactY {
			return unsure
		}
		if x == y {
			return fits
		}
	case a[0] != b[0]:
	case a[0] == '{' || a[0] == '[':
		return unsure
	case a[0] == '"' && (bytes.IndexByte(a, '\\') >= 0 || bytes.IndexByte(b, '\\') >= 0):
		x, okX := rawjson.Unquote(a)
		y, okY := rawjson.Unquote(b)
		if !okX || !okY {
			return unsure
		}
		if x == y {
			return fits
		}
	}
	return refuted
}

// text checks the length and pattern of a string.
func (c *argumentCheck) text(t *textRules, text []byte) verdict {
	v, inner := fits, text[1:len(text)-1]
	if bytes.IndexByte(inner, '\\') >= 0 {
		decoded, ok := rawjson.AppendUnescaped(nil, inner)
		if !ok {
			return unsure
		}
		inner = decoded
	}
	if n := utf8.RuneCount(inner); n < t.minLength || t.maxLength >= 0 && n > t.maxLength {
		v = c.fault(fmt.Sprintf("want %s, found %d", rangeText(t.minLength, t.maxLength, "characters"), n))
	}
	if t.pattern == nil {
		return v
	}
	switch c.match(t.pattern, inner) {
	case refuted:
		v = c.fault("want a string that matches the pattern " + clipText(t.pattern.source, 200))
	case unsure:
		v = v.and(unsure)
	}
	return v
}

// numberBound is one of minimum, maximum, exclusiveMinimum, exclusiveMaximum and multipleOf.
type numberBound struct {
	limit float64
	exact bool   // limit represents the number exactly
	words string // the requirement, such as "of at most"
	text  string // the limit as written in the schema
	holds func(value, limit float64) bool

	quotient bool // a multipleOf: only numbers that float64 represents exactly can be checked
}

// maxWhole is the largest number up to which float64 represents every integer.
const maxWhole = 1 << 53

// number checks the bounds of a number. Numbers that float64 does not represent exactly are not checked.
func (c *argumentCheck) number(n *node, text []byte) verdict {
	v := fits
	value, exact := numberOf(text)
	for i := range n.bounds {
		b := &n.bounds[i]
		switch {
		case !exact || !b.exact || b.quotient && math.Abs(value) > maxWhole:
			v = v.and(unsure)
		case !b.holds(value, b.limit):
			v = c.fault("want a number " + b.words + " " + b.text)
		}
	}
	return v
}

func rangeText(least, most int, things string) string {
	switch {
	case most < 0:
		return fmt.Sprintf("%d or more %s", least, things)
	case least <= 0:
		return fmt.Sprintf("%d or fewer %s", most, things)
	}
	return fmt.Sprintf("%d to %d %s", least, most, things)
}
