package toolschema

import (
	"fmt"

	"goblin-actor/protocol/rawjson"
)

// SchemaFault says where a schema of a tool's definition is not valid, and why.
type Fault struct {
	Pointer string // JSON pointer into the definition, such as /inputSchema/properties/n/type
	Reason  string
}

func (f *Fault) Error() string { return f.Pointer + ": " + f.Reason }

// CheckTool checks the schemas of a tool's definition, checked JSON that is an object, and returns the first fault of each; nil where
// there is none. The inputSchema is required and its type is object (MCP 2025-11-25 and 2026-07-28, server/tools); an outputSchema is
// optional. Both have to be JSON Schema 2020-12, or of the older draft that $schema names, without references to other documents.
func Check(raw []byte) (input, output *Fault) {
	found := false
	w := nestedWalk{raw: raw, at: 1}
	for w.key() {
		switch { // of several members with the same name the last counts
		case rawjson.KeyIs(w.name, "inputSchema"):
			found = true
			w.at, input = checkInput(raw, w.at)
		case rawjson.KeyIs(w.name, "outputSchema"):
			w.at, _, output = checkSchema(raw, w.at, "/outputSchema")
		default:
			w.at = rawjson.SkipValue(raw, w.at)
		}
	}
	if !found {
		input = &Fault{"/inputSchema", "the member is missing: want a JSON Schema with type object"}
	}
	return input, output
}

// checkInput checks the inputSchema at an offset and returns the offset behind it.
func checkInput(raw []byte, at int) (end int, fault *Fault) {
	if raw[at] != '{' {
		value := rawjson.Span{Off: uint32(at), End: uint32(rawjson.SkipValue(raw, at))}
		return int(value.End), &Fault{"/inputSchema", "want a JSON Schema with type object, found " + rawjson.TypeName(raw, value)}
	}
	end, kind, fault := checkSchema(raw, at, "/inputSchema")
	switch {
	case fault != nil:
	case !kind.Present():
		fault = &Fault{"/inputSchema/type", `the member is missing: want "object"`}
	case !rawjson.StringIs(kind.Of(raw), "object"):
		fault = &Fault{"/inputSchema/type", fmt.Sprintf(`want "object", found %s`, excerpt(kind.Of(raw)))}
	}
	return end, fault
}

// WithoutOutputSchema returns a tool's definition without its outputSchema.
func WithoutOutputSchema(raw []byte) []byte {
	edits, _ := rawjson.DropMembers(nil, raw, rawjson.Whole(raw), [2]rawjson.Span{}, func(key []byte) bool { return rawjson.KeyIs(key, "outputSchema") })
	return rawjson.AppendEdited(nil, raw, edits...)
}
