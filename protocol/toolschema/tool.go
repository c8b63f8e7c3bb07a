package toolschema

import (
	"fmt"

	"goblin-actor/protocol/rawjson"
)

// Fault describes where and why a schema of a tool's definition is invalid.
type Fault struct {
	Pointer string // JSON pointer into the definition, such as /inputSchema/properties/n/type
	Reason  string
}

// Error returns the pointer and the reason.
func (f *Fault) Error() string { return f.Pointer + ": " + f.Reason }

// Check checks the schemas of a tool's definition, a valid JSON object, and returns the first fault of each, or nil. The
// inputSchema is required and its type must be object (MCP 2025-11-25 and 2026-07-28, server/tools). The outputSchema is
// optional. Both must be JSON Schema 2020-12, or the older draft that $schema names, without references to other documents.
func Check(raw []byte) (input, output *Fault) {
	found := false
	w := nestedWalk{raw: raw, at: 1}
	for w.key() {
		switch { // the last of several members with the same name counts
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

// checkInput checks the inputSchema at an offset and returns the offset after it.
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
