package protocol

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Bounds on what is checked. A schema beyond them is not valid: no model could use it.
const (
	maxCheckedSchema = 256 << 10 // bytes
	maxCheckedDepth  = 64        // schemas within schemas
	maxCheckedRefs   = 1000      // references of one schema whose targets are looked for
)

// schemaCheck checks one schema.
type schemaCheck struct {
	raw  []byte
	root Span
	id   []byte // $id of the root, without quotes
	old  bool   // of a draft before 2020-12, which allows more forms of items and exclusiveMinimum
	refs map[string]bool
}

// checkSchema checks the schema at the span of raw, which name is the pointer to.
func checkSchema(raw []byte, schema Span, name string) *SchemaFault {
	if size := schema.End - schema.Off; size > maxCheckedSchema {
		return &SchemaFault{name, fmt.Sprintf("the schema has %d bytes; at most %d are allowed", size, maxCheckedSchema)}
	}
	c := &schemaCheck{raw: raw, root: schema}
	if raw[schema.Off] == '{' {
		c.id = unquoted(Member(raw, schema, "$id").Of(raw))
		dialect := Member(raw, schema, "$schema").Of(raw)
		c.old = bytes.Contains(dialect, []byte("/draft-0")) || bytes.Contains(dialect, []byte("/draft/2019-09/"))
	}
	f := c.schema(schema, 0)
	if f == nil {
		return nil
	}
	slices.Reverse(f.path)
	return &SchemaFault{name + strings.Join(f.path, ""), f.reason}
}

// flaw is a fault on its way to the root: path holds the steps of its pointer, the last one first.
type flaw struct {
	path   []string
	reason string
}

func flawed(format string, args ...any) *flaw { return &flaw{reason: fmt.Sprintf(format, args...)} }

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// in adds the step that leads to the fault; f may be nil.
func (f *flaw) in(step string) *flaw {
	if f != nil {
		f.path = append(f.path, "/"+pointerEscapes.Replace(step))
	}
	return f
}

func (c *schemaCheck) schema(at Span, depth int) *flaw {
	switch c.raw[at.Off] {
	case '{':
	case 't', 'f':
		return nil
	default:
		return c.want("a schema, which is an object, true or false", at)
	}
	if depth == maxCheckedDepth {
		return flawed("more than %d schemas within each other", maxCheckedDepth)
	}
	for w := walkMembers(c.raw, at); w.next(); {
		key := w.key
		if bytes.IndexByte(key, '\\') >= 0 {
			key, _ = appendUnescaped(nil, key)
		}
		form, known := keywords[string(key)]
		if !known {
			continue
		}
		if f := form(c, w.value, depth); f != nil {
			return f.in(string(key))
		}
	}
	return nil
}

// want returns the fault of a value that has another form.
func (c *schemaCheck) want(form string, found Span) *flaw {
	return flawed("want %s, found %s", form, excerpt(found.Of(c.raw)))
}

// excerpt returns a JSON value for a person, shortened.
func excerpt(value []byte) string {
	switch {
	case len(value) > 0 && value[0] == '{':
		return "an object"
	case len(value) > 0 && value[0] == '[':
		return "an array"
	case len(value) > 64:
		return strings.ToValidUTF8(string(value[:64]), "") + "…"
	}
	return string(value)
}

func unquoted(text []byte) []byte {
	if len(text) < 2 || text[0] != '"' {
		return nil
	}
	return text[1 : len(text)-1]
}
