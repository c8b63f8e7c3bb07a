package protocol

import (
	"bytes"
	"fmt"
	"strings"

	"goblin-actor/protocol/rawjson"
)

// MaxBindings is how many arguments of one tool may be bound to headers; a server behind HTTP takes no more headers than
// that anyway.
const MaxBindings = 64

// maxSchemaDepth is how deep schemas may nest in a schema that binds arguments.
const maxSchemaDepth = 64

// Bindings are the arguments of a tool that its server wants repeated in Mcp-Param headers, compiled from the x-mcp-header
// annotations of its inputSchema. They are immutable. A nil *Bindings binds nothing: most tools have none.
// MCP 2026-07-28, basic/transports/streamable-http, custom headers
type Bindings struct {
	root    []bound
	headers []string // whole names
	paths   []string // of the arguments, for people
}

// bound is one property on the way to bound arguments, or at its end.
type bound struct {
	key    string
	header int     // index in headers; -1 = on the way only
	below  []bound // at most MaxBindings
}

// CompileBindings reads the annotations of a tool, a checked JSON object; nil when it has none. An error says which
// annotation is invalid: such a tool is left out of the list of a modern server behind HTTP.
func CompileBindings(rawTool []byte) (*Bindings, error) {
	if !bytes.Contains(rawTool, []byte("x-mcp-header")) && !bytes.Contains(rawTool, []byte(`\u`)) {
		return nil, nil
	}
	c := bindingCompiler{raw: rawTool, b: &Bindings{}, names: map[string]bool{}}
	schema := rawjson.Member(rawTool, rawjson.Whole(rawTool), "inputSchema")
	root, err := c.schema(schema, nil, true, 0)
	if err != nil {
		return nil, err
	}
	if root.header >= 0 {
		return nil, fmt.Errorf("x-mcp-header %q stands at the root of the schema", c.b.headers[root.header])
	}
	if len(c.b.headers) == 0 {
		return nil, nil
	}
	c.b.root = root.below
	return c.b, nil
}

type bindingCompiler struct {
	raw   []byte
	b     *Bindings
	names map[string]bool // headers in lower case
}

// schema compiles one schema. fixed: the way to it is properties all along, so that the argument's place is known.
func (c *bindingCompiler) schema(schema rawjson.Span, path []string, fixed bool, depth int) (bound, error) {
	out := bound{header: -1}
	if depth > maxSchemaDepth {
		return out, fmt.Errorf("property %q: schemas nest too deep", strings.Join(path[:3], "."))
	}
	var header, kind rawjson.Span
	properties := false
	for w := rawjson.WalkMembers(c.raw, schema); w.Next(); {
		key, _ := rawjson.AppendUnescaped(nil, w.Key)
		var err error
		switch keyword := string(key); keyword {
		case "x-mcp-header":
			if header.Present() {
				return out, c.bad(path, "stands there twice")
			}
			header = w.Value
		case "type":
			kind = w.Value
		case "properties":
			if properties {
				return out, fmt.Errorf("property %q: properties stands there twice", strings.Join(path, "."))
			}
			properties = true
			out.below, err = c.properties(w.Value, path, fixed, depth)
		case "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
			_, err = c.properties(w.Value, path, false, depth)
		case "items", "prefixItems", "additionalItems", "contains", "unevaluatedItems", "additionalProperties", "unevaluatedProperties",
			"propertyNames", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contentSchema":
			err = c.schemas(w.Value, append(path, keyword), depth)
		}
		if err != nil {
			return out, err
		}
	}
	var err error
	if header.Present() {
		out.header, err = c.header(header, kind, path, fixed)
	}
	return out, err
}

// properties compiles the schemas of an object of schemas and returns those that lead to bound arguments.
func (c *bindingCompiler) properties(object rawjson.Span, path []string, fixed bool, depth int) ([]bound, error) {
	var out []bound
	for w := rawjson.WalkMembers(c.raw, object); w.Next(); {
		key, _ := rawjson.AppendUnescaped(nil, w.Key)
		child, err := c.schema(w.Value, append(path, string(key)), fixed, depth+1)
		if err != nil {
			return nil, err
		}
		if child.header < 0 && child.below == nil {
			continue
		}
		child.key = string(key)
		for _, other := range out {
			if other.key == child.key {
				return nil, c.bad(append(path, child.key), "its property stands there twice")
			}
		}
		out = append(out, child)
	}
	return out, nil
}

// schemas looks into a schema, or an array of them, that no fixed way leads to: annotations there are errors.
func (c *bindingCompiler) schemas(value rawjson.Span, path []string, depth int) error {
	if _, err := c.schema(value, path, false, depth+1); err != nil {
		return err
	}
	for w := rawjson.WalkElements(c.raw, value); w.Next(); {
		if _, err := c.schema(w.Value, path, false, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// header checks one annotation and returns its index.
func (c *bindingCompiler) header(value, kind rawjson.Span, path []string, fixed bool) (int, error) {
	name, ok := rawjson.Unquote(value.Of(c.raw))
	lower := strings.ToLower(name)
	switch {
	case !ok || name == "":
		return -1, c.bad(path, "want a string that is not empty")
	case !isToken(name):
		return -1, c.bad(path, fmt.Sprintf("%q is no name for a header", name))
	case !fixed:
		return -1, c.bad(path, "not on a path of properties only")
	case !c.primitive(kind):
		return -1, c.bad(path, "only string, integer and boolean can stand in a header")
	case c.names[lower]:
		return -1, c.bad(path, fmt.Sprintf("%q stands there twice", name))
	case len(c.b.headers) == MaxBindings:
		return -1, c.bad(path, "more than 64 of them")
	}
	c.names[lower] = true
	c.b.headers = append(c.b.headers, HeaderParam+name)
	c.b.paths = append(c.b.paths, strings.Join(path, "."))
	return len(c.b.headers) - 1, nil
}

func (*bindingCompiler) bad(path []string, why string) error {
	return fmt.Errorf("property %q: x-mcp-header: %s", strings.Join(path, "."), why)
}

// primitive reports whether a schema's type, one or several of them, can stand in a header. Null besides does no harm:
// a null argument has no header.
func (c *bindingCompiler) primitive(kind rawjson.Span) bool {
	text := kind.Of(c.raw)
	if len(text) == 0 || text[0] != '[' {
		return isPrimitive(text)
	}
	some := false
	for w := rawjson.WalkElements(c.raw, kind); w.Next(); {
		switch one := w.Value.Of(c.raw); {
		case isPrimitive(one):
			some = true
		case !rawjson.StringIs(one, "null"):
			return false
		}
	}
	return some
}

func isPrimitive(raw []byte) bool {
	return rawjson.StringIs(raw, "string") || rawjson.StringIs(raw, "integer") || rawjson.StringIs(raw, "boolean")
}

// isToken reports whether name can be part of a header's name. // RFC 9110, 5.6.2
func isToken(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if (c < '0' || c > '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
				return false
			}
		}
	}
	return true
}
