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
	found := false
	w := nestedWalk{raw: raw, at: 1}
	for w.key() {
		switch { // of several members with the same name the last counts
		case sameKey(w.name, "inputSchema"):
			found = true
			w.at, input = checkInput(raw, w.at)
		case sameKey(w.name, "outputSchema"):
			w.at, _, output = checkSchema(raw, w.at, "/outputSchema")
		default:
			w.at = skipValue(raw, w.at)
		}
	}
	if !found {
		input = &SchemaFault{"/inputSchema", "the member is missing: want a JSON Schema with type object"}
	}
	return input, output
}

// checkInput checks the inputSchema at an offset and returns the offset behind it.
func checkInput(raw []byte, at int) (end int, fault *SchemaFault) {
	if raw[at] != '{' {
		value := Span{uint32(at), uint32(skipValue(raw, at))}
		return int(value.End), &SchemaFault{"/inputSchema", "want a JSON Schema with type object, found " + typeOf(raw, value)}
	}
	end, kind, fault := checkSchema(raw, at, "/inputSchema")
	switch {
	case fault != nil:
	case !kind.Present():
		fault = &SchemaFault{"/inputSchema/type", `the member is missing: want "object"`}
	case !equalsText(kind.Of(raw), "object"):
		fault = &SchemaFault{"/inputSchema/type", fmt.Sprintf(`want "object", found %s`, excerpt(kind.Of(raw)))}
	}
	return end, fault
}

// WithoutOutputSchema returns a tool's definition without its outputSchema.
func WithoutOutputSchema(raw []byte) []byte {
	edits, _ := dropMembers(nil, raw, Span{0, uint32(len(raw))}, [2]Span{}, func(key []byte) bool { return sameKey(key, "outputSchema") })
	return AppendEdited(nil, raw, edits...)
}
