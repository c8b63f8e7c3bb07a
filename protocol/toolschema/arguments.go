package toolschema

import (
	"strconv"
	"strings"
	"sync"

	"goblin-actor/protocol/rawjson"
)

// Bounds on the check of one call's arguments.
const (
	maxArgumentFaults = 8
	maxArgumentWork   = 50_000 // schemas applied, members read and 256-byte blocks scanned; the rest passes unchecked
	maxArgumentDepth  = 200    // nested schemas, including references
	bytesPerWork      = 256
)

// ArgumentFault describes one mismatch between a call's arguments and the schema. It does not repeat values, which may be
// secret.
type ArgumentFault struct {
	Pointer  string // JSON pointer into the arguments; "" is the arguments object itself
	Expected string // the expected value, and usually the type of the value found
}

// InputSchema is the compiled inputSchema of a tool. It is immutable and safe for concurrent use.
type InputSchema struct {
	Raw  []byte // the server's inputSchema
	root *node
}

var noArguments = []byte("{}")

// Check returns the places where the arguments certainly do not match the schema, at most 8, or nil. Keywords that the
// package does not check, and arguments beyond its bounds, never cause a fault. The server decides about these. args is a
// span of raw, which must be valid JSON. Absent and null arguments count as {}.
func (s *InputSchema) Check(raw []byte, args rawjson.Span) []ArgumentFault {
	if text := args.Of(raw); len(text) == 0 || text[0] == 'n' {
		raw, args = noArguments, rawjson.Whole(noArguments)
	}
	c := argumentChecks.Get().(*argumentCheck)
	*c = argumentCheck{raw: raw, schema: s.Raw, left: maxArgumentWork, path: c.path[:0]}
	v, faults := c.apply(s.root, args), c.faults
	*c = argumentCheck{path: c.path[:0]}
	argumentChecks.Put(c)
	if v == refuted {
		return faults
	}
	return nil
}

// argumentChecks pools checks to reuse their memory. A path has at most maxArgumentDepth steps.
var argumentChecks = sync.Pool{New: func() any { return new(argumentCheck) }}

// verdict is the result of matching a value with a schema. A larger verdict wins.
type verdict int8

const (
	fits    verdict = iota
	unsure          // depends on keywords or values that are not checked
	refuted         // the value certainly does not match
)

// and combines the verdicts of two schemas that must both match.
func (v verdict) and(other verdict) verdict { return max(v, other) }

// step leads from a value to a member or element of it.
type step struct {
	key   []byte // the key without its quotes; nil for an array element
	index int
}

// argumentCheck is the state of one Check.
type argumentCheck struct {
	raw    []byte
	schema []byte
	left   int // remaining work
	depth  int
	quiet  int // nesting of branches (anyOf, oneOf, not, if, contains); above 0, a mismatch is not a fault by itself
	path   []step
	faults []ArgumentFault
}

// pay deducts the work of reading a value and reports whether work is left.
func (c *argumentCheck) pay(at rawjson.Span) bool {
	c.left -= 1 + int(at.End-at.Off)/bytesPerWork
	return c.left > 0
}

// apply checks the value at the span. A nil node matches every value.
func (c *argumentCheck) apply(n *node, at rawjson.Span) verdict {
	if n == nil {
		return fits
	}
	if c.depth >= maxArgumentDepth || !c.pay(at) {
		return unsure
	}
	c.depth++
	v := c.value(n, at)
	if v != refuted { // after a mismatch of the value itself, further faults would be redundant
		switch first := c.raw[at.Off]; {
		case first == '{' && n.object != nil:
			v = v.and(c.object(n.object, at))
		case first == '[' && n.array != nil:
			v = v.and(c.array(n.array, at))
		}
		if n.parts != nil && (v != refuted || c.quiet == 0) {
			v = v.and(c.combined(n.parts, at))
		}
	}
	c.depth--
	if n.partly {
		v = v.and(unsure)
	}
	return v
}

// fault records what was expected at the current path, unless quiet is above 0. Once the maximum number of faults is
// recorded, the check ends.
func (c *argumentCheck) fault(expected string) verdict {
	if c.quiet == 0 && len(c.faults) < maxArgumentFaults {
		c.faults = append(c.faults, ArgumentFault{pointerOf(c.path), expected})
		if len(c.faults) == maxArgumentFaults {
			c.left = 0
		}
	}
	return refuted
}

// ended reports whether the check is finished: a branch does not match, or no work is left.
func (c *argumentCheck) ended(v verdict) bool { return c.left <= 0 || v == refuted && c.quiet > 0 }

// maxPointer is the maximum number of bytes of a client's key that a pointer repeats.
const maxPointer = 256

func pointerOf(path []step) string {
	var b strings.Builder
	for _, s := range path {
		b.WriteByte('/')
		if s.key == nil {
			b.WriteString(strconv.Itoa(s.index))
			continue
		}
		key, _ := rawjson.AppendUnescaped(nil, s.key)
		b.WriteString(pointerEscapes.Replace(clipText(string(key), maxPointer)))
	}
	return b.String()
}

// AppendProblems appends the members of error.data that describe the faults and the schema:
// "problems":[{"pointer":…,"expected":…}],"schema":….
func (s *InputSchema) AppendProblems(dst []byte, faults []ArgumentFault) []byte {
	dst = append(dst, `"problems":[`...)
	for i, f := range faults {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendQuoted(append(dst, `{"pointer":`...), f.Pointer)
		dst = append(rawjson.AppendQuoted(append(dst, `,"expected":`...), f.Expected), '}')
	}
	dst = append(dst, `],"schema":`...)
	return rawjson.AppendOneLine(dst, s.Raw) // a message is one line on stdio
}
