package protocol

import "fmt"

// SchemaFault says where a schema of a tool's definition is not valid, and why.
type SchemaFault struct {
	Pointer string // JSON pointer into the definition, such as /inputSchema/properties/n/type
	Reason  string
}

func (f *SchemaFault) Error() string { return f.Pointer + ": " + f.Reason }

// CheckTool checks the schemas of a tool's definition, checked JSON that is an object, and returns the first fault of each; nil where
// there is none. The inputSchema is required and its type is object (MCP 2025-11-25 and 2026-07-28, server/tools); an outputSchema is
// optional. Both have to be JSON Schema 2020-12, or of the older draft that $schema names, without references to other documents.
func CheckTool(raw []byte) (input, output *SchemaFault) {
	var schema, out Span
	for w := walkMembers(raw, Span{0, uint32(len(raw))}); w.next(); {
		switch { // of several members with the same name the last counts
		case sameKey(w.key, "inputSchema"):
			schema = w.value
		case sameKey(w.key, "outputSchema"):
			out = w.value
		}
	}
	if out.Present() {
		_, output = checkSchema(raw, out, "/outputSchema")
	}
	switch {
	case !schema.Present():
		return &SchemaFault{"/inputSchema", "the member is missing: want a JSON Schema with type object"}, output
	case raw[schema.Off] != '{':
		return &SchemaFault{"/inputSchema", "want a JSON Schema with type object, found " + typeOf(raw, schema)}, output
	}
	kind, input := checkSchema(raw, schema, "/inputSchema")
	switch {
	case input != nil:
	case !kind.Present():
		input = &SchemaFault{"/inputSchema/type", `the member is missing: want "object"`}
	case !equalsText(kind.Of(raw), "object"):
		input = &SchemaFault{"/inputSchema/type", fmt.Sprintf(`want "object", found %s`, excerpt(kind.Of(raw)))}
	}
	return input, output
}

// WithoutOutputSchema returns a tool's definition without its outputSchema.
func WithoutOutputSchema(raw []byte) []byte {
	edits, _ := dropMembers(nil, raw, Span{0, uint32(len(raw))}, [2]Span{}, func(key []byte) bool { return sameKey(key, "outputSchema") })
	return AppendEdited(nil, raw, edits...)
}
