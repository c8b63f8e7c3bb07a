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
	maxArgumentWork   = 50_000 // schemas applied, members read and quarter KiB scanned; what is not checked by then passes
	maxArgumentDepth  = 200    // schemas within each other, references included
	bytesPerWork      = 256
)

// ArgumentFault says what is wrong with a call's arguments at one place. It does not repeat their values, which may be secret.
type ArgumentFault struct {
	Pointer  string // JSON pointer into the arguments; "" = the arguments themselves
	Expected string // what was expected there, and what kind of value was found
}

// ArgumentSchema is the compiled inputSchema of a tool. Immutable; safe from any goroutine.
type InputSchema struct {
	Raw  []byte // the inputSchema as the server gave it
	root *node
}

var noArguments = []byte("{}")

// Check returns what in the arguments certainly does not fit the schema, at most 8 faults; nil = nothing. Keywords that the gateway does not
// check, and checks beyond the bounds, refuse nothing: then the server decides. args is part of checked bytes; absent and null count as {}.
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

// argumentChecks keeps the memory of checks for the next ones. A path holds at most maxArgumentDepth steps.
var argumentChecks = sync.Pool{New: func() any { return new(argumentCheck) }}

// verdict says whether a value fits a schema.
type verdict int8

const (
	fits    verdict = iota
	unsure          // it depends on what the gateway does not check
	refuted         // it certainly does not
)

// and combines the verdicts of two schemas that both have to fit.
func (v verdict) and(other verdict) verdict { return max(v, other) }

// step leads from a value to one inside of it.
type step struct {
	key   []byte // inside of the key's string; nil = an element of an array
	index int
}

// argumentCheck is one check of a call's arguments.
type argumentCheck struct {
	raw    []byte
	schema []byte
	left   int // work that may still be done
	depth  int
	quiet  int // above 0 a mismatch is no fault by itself: it is in one of several branches
	path   []step
	faults []ArgumentFault
}

// pay takes work for reading a value from what is left, and reports whether there was enough.
func (c *argumentCheck) pay(at rawjson.Span) bool {
	c.left -= 1 + int(at.End-at.Off)/bytesPerWork
	return c.left > 0
}

// apply checks the value at the span. A node that is nil fits every value.
func (c *argumentCheck) apply(n *node, at rawjson.Span) verdict {
	if n == nil {
		return fits
	}
	if c.depth >= maxArgumentDepth || !c.pay(at) {
		return unsure
	}
	c.depth++
	v := c.value(n, at)
	if v != refuted { // otherwise further faults would only repeat that the type is wrong
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

// fault records what was expected at the current place. The last fault that is reported ends the check, whose result is certain by then.
func (c *argumentCheck) fault(expected string) verdict {
	if c.quiet == 0 && len(c.faults) < maxArgumentFaults {
		c.faults = append(c.faults, ArgumentFault{pointerOf(c.path), expected})
		if len(c.faults) == maxArgumentFaults {
			c.left = 0
		}
	}
	return refuted
}

// ended reports whether the verdict so far is the result: a branch does not fit, or there is no work left.
func (c *argumentCheck) ended(v verdict) bool { return c.left <= 0 || v == refuted && c.quiet > 0 }

// maxPointer is how many bytes of a client's own key a pointer repeats.
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

// AppendProblems appends the members of error.data that say what is wrong with a call's arguments:
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
