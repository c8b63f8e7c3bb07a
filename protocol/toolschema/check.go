package toolschema

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"goblin-actor/protocol/rawjson"
)

// Bounds on schemas. A larger or deeper schema is reported as invalid, because no model could use it.
const (
	maxCheckedSchema = 256 << 10 // bytes
	maxCheckedDepth  = 64        // nested schemas
	maxCheckedRefs   = 1000      // references per schema whose targets are checked; further ones pass
)

// schemaCheck is the check of one schema. Fields that only some schemas need are computed on demand.
type schemaCheck struct {
	raw  []byte
	root rawjson.Span // End is 0 until whole is called
	kind rawjson.Span // type of the root
	refs map[string]bool

	dialect dialect
	id      []byte // $id of the root without quotes; valid if refs is not nil
}

// dialect is the draft of a schema.
type dialect byte

const (
	dialectUnknown dialect = iota // not yet determined
	dialectNew                    // 2020-12
	dialectOld                    // an older draft, with more forms of items and exclusiveMinimum
)

// checkSchema checks the schema at offset at of raw. name is the JSON pointer to it. It returns the offset after the
// schema and the span of the root's type, which may be absent.
func checkSchema(raw []byte, at int, name string) (end int, kind rawjson.Span, fault *Fault) {
	c := schemaCheck{raw: raw, root: rawjson.Span{Off: uint32(at)}}
	end, f := c.schema(at, 0)
	if f != nil {
		end = int(c.whole().End)
	}
	if size := end - at; size > maxCheckedSchema {
		return end, kind, &Fault{name, fmt.Sprintf("the schema has %d bytes; at most %d are allowed", size, maxCheckedSchema)}
	}
	if f == nil {
		return end, c.kind, nil
	}
	slices.Reverse(f.path)
	return end, c.kind, &Fault{name + strings.Join(f.path, ""), f.reason}
}

// whole returns the span of the root.
func (c *schemaCheck) whole() rawjson.Span {
	if c.root.End == 0 {
		c.root = c.span(int(c.root.Off))
	}
	return c.root
}

// older reports whether $schema names a draft before 2020-12.
func (c *schemaCheck) older() bool {
	if c.dialect == dialectUnknown {
		c.dialect = dialectNew
		if root := c.whole(); bytes.Contains(root.Of(c.raw), []byte(`schema"`)) {
			name := rawjson.Member(c.raw, root, "$schema").Of(c.raw)
			if bytes.Contains(name, []byte("/draft-0")) || bytes.Contains(name, []byte("/draft/2019-09/")) {
				c.dialect = dialectOld
			}
		}
	}
	return c.dialect == dialectOld
}

// flaw is a Fault under construction. path holds the steps of its pointer in reverse order.
type flaw struct {
	path   []string
	reason string
}

func flawed(format string, args ...any) *flaw { return &flaw{reason: fmt.Sprintf(format, args...)} }

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// in prepends a step to the pointer. f may be nil.
func (f *flaw) in(step string) *flaw {
	if f != nil {
		f.path = append(f.path, "/"+pointerEscapes.Replace(step))
	}
	return f
}

// schema checks the schema at an offset and returns the offset after it. It reads each byte of nested schemas only once.
func (c *schemaCheck) schema(at, depth int) (end int, f *flaw) {
	switch c.raw[at] {
	case '{':
	case 't', 'f':
		return rawjson.SkipValue(c.raw, at), nil
	default:
		return at, c.want("a schema (an object, true or false)", c.span(at))
	}
	if depth == maxCheckedDepth {
		return at, flawed("schemas are nested more than %d levels deep", maxCheckedDepth)
	}
	w := c.inside(at)
	for w.key() {
		keyword := w.name
		if bytes.IndexByte(keyword, '\\') >= 0 {
			keyword, _ = rawjson.AppendUnescaped(nil, keyword)
		}
		if depth == 0 && string(keyword) == "type" {
			c.kind = c.span(w.at)
		}
		w.at, f = c.value(formOf(keyword), w.at, depth)
		if f != nil {
			return at, f.in(string(keyword))
		}
	}
	return w.end(), nil
}

// span returns the span of the value at an offset.
func (c *schemaCheck) span(at int) rawjson.Span {
	return rawjson.Span{Off: uint32(at), End: uint32(rawjson.SkipValue(c.raw, at))}
}

// nestedWalk iterates over the members of an object or the elements of an array. The caller reads each value and sets
// at to the offset after it.
type nestedWalk struct {
	raw  []byte
	at   int
	name []byte // the key without its quotes
}

func (c *schemaCheck) inside(at int) nestedWalk { return nestedWalk{raw: c.raw, at: at + 1} }

// key advances to the value of the next member and reports whether there is one.
func (w *nestedWalk) key() bool {
	if !w.next() || w.raw[w.at] != '"' {
		return false
	}
	end := rawjson.SkipString(w.raw, w.at)
	w.name = w.raw[w.at+1 : end-1]
	if w.at = rawjson.SkipSpace(w.raw, end); w.at < len(w.raw) && w.raw[w.at] == ':' {
		w.at = rawjson.SkipSpace(w.raw, w.at+1)
	}
	return w.at < len(w.raw)
}

// next advances to the next element and reports whether there is one.
func (w *nestedWalk) next() bool {
	if w.at = rawjson.SkipSpace(w.raw, w.at); w.at < len(w.raw) && w.raw[w.at] == ',' {
		w.at = rawjson.SkipSpace(w.raw, w.at+1)
	}
	return w.at < len(w.raw) && w.raw[w.at] != '}' && w.raw[w.at] != ']'
}

// end returns the offset after the object or array. Call it when no value is left.
func (w *nestedWalk) end() int { return w.at + 1 }

// want returns the flaw of a value with the wrong form.
func (c *schemaCheck) want(form string, found rawjson.Span) *flaw {
	return flawed("want %s, found %s", form, excerpt(found.Of(c.raw)))
}

// excerpt returns a short form of a JSON value for use in a message.
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

// clipText returns s if len(s) <= most. Otherwise it cuts s to that length, between characters, and adds an ellipsis.
func clipText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
