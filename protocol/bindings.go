package protocol

import (
	"bytes"
	"fmt"
	"strings"

	"goblin-actor/protocol/rawjson"
)

// MaxBindings is the maximum number of arguments of a tool that may be bound to headers. HTTP servers rarely accept more
// headers.
const MaxBindings = 64

// maxSchemaDepth is the maximum nesting of schemas that CompileBindings follows. CompileBindings refuses tools with
// deeper schemas.
const maxSchemaDepth = 64

// Bindings describes the arguments of a tool that must be repeated in Mcp-Param headers. It is compiled from the x-mcp-header
// annotations of the inputSchema and is immutable. A nil *Bindings, as for most tools, binds nothing.
// MCP 2026-07-28, basic/transports/streamable-http, custom headers
type Bindings struct {
	root    []bound
	headers []string // header names, with the prefix Mcp-Param-
	paths   []string // paths of the arguments, for messages
}

// bound is a property that is bound to a header or contains bound properties.
type bound struct {
	key    string
	header int     // index in headers; -1 if the property itself is not bound
	below  []bound // at most MaxBindings
}

// CompileBindings compiles the annotations of a tool, which must be a valid JSON object. It returns nil if there are
// none. An error names the property with the invalid annotation, unless it is the root. The gateway does not list such
// a tool if its server is a modern HTTP server.
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
		return nil, fmt.Errorf("x-mcp-header %q must not be at the root of the schema", c.b.headers[root.header])
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

// schema compiles one schema. fixed means that the path consists of properties only, so it leads to exactly one argument.
func (c *bindingCompiler) schema(schema rawjson.Span, path []string, fixed bool, depth int) (bound, error) {
	out := bound{header: -1}
	if depth > maxSchemaDepth {
		return out, fmt.Errorf("property %q: schemas are nested too deeply", strings.Join(path[:3], "."))
	}
	var header, kind rawjson.Span
	properties := false
	for w := rawjson.WalkMembers(c.raw, schema); w.Next(); {
		key, _ := rawjson.AppendUnescaped(nil, w.Key)
		var err error
		switch keyword := string(key); keyword {
		case "x-mcp-header":
			if header.Present() {
				return out, c.bad(path, "occurs twice")
			}
			header = w.Value
		case "type":
			kind = w.Value
		case "properties":
			if properties {
				return out, fmt.Errorf("property %q: the keyword properties occurs twice", strings.Join(path, "."))
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

// properties compiles an object of schemas and returns those that are bound or contain bound properties.
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
				return nil, c.bad(append(path, child.key), "the property occurs twice")
			}
		}
		out = append(out, child)
	}
	return out, nil
}

// schemas checks a schema, or an array of schemas, outside of fixed paths. Annotations there are errors.
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

// header checks one annotation, adds its header, and returns the index of the header.
func (c *bindingCompiler) header(value, kind rawjson.Span, path []string, fixed bool) (int, error) {
	name, ok := rawjson.Unquote(value.Of(c.raw))
	lower := strings.ToLower(name)
	switch {
	case !ok || name == "":
		return -1, c.bad(path, "want a non-empty string")
	case !isToken(name):
		return -1, c.bad(path, fmt.Sprintf("%q is not a valid header name", name))
	case !fixed:
		return -1, c.bad(path, "allowed only on a property whose parents are all properties")
	case !c.primitive(kind):
		return -1, c.bad(path, "only the types string, integer and boolean are allowed")
	case c.names[lower]:
		return -1, c.bad(path, fmt.Sprintf("%q is used twice", name))
	case len(c.b.headers) == MaxBindings:
		return -1, c.bad(path, "a tool may have at most 64 such headers")
	}
	c.names[lower] = true
	c.b.headers = append(c.b.headers, HeaderParam+name)
	c.b.paths = append(c.b.paths, strings.Join(path, "."))
	return len(c.b.headers) - 1, nil
}

func (*bindingCompiler) bad(path []string, why string) error {
	return fmt.Errorf("property %q: x-mcp-header: %s", strings.Join(path, "."), why)
}

// primitive reports whether a header can carry the schema's type or types. Null is also allowed, since a null argument
// has no header.
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

// isToken reports whether name can be part of a header name. RFC 9110, section 5.6.2
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
