package protocol

import (
	"bytes"

	"goblin-actor/protocol/rawjson"
)

// LegacyItem returns a modern server's listed item in a form that legacy clients accept, or raw itself if nothing
// changes. It removes a tool's outputSchema unless its type is object. In both schemas, it replaces property schemas
// that are true or false with equivalent objects. A TypeScript v1 client would reject the whole list because of one
// such tool. raw must be valid JSON.
func LegacyItem(kind ItemKind, raw []byte) []byte {
	if kind != Tools {
		return raw
	}
	object := rawjson.Whole(raw)
	var edits []rawjson.Edit
	output := rawjson.Member(raw, object, "outputSchema")
	if output.Present() && !rawjson.StringIs(rawjson.Member(raw, output, "type").Of(raw), "object") {
		edits, _ = rawjson.DropMembers(edits, raw, object, [2]rawjson.Span{}, func(key []byte) bool { return rawjson.KeyIs(key, "outputSchema") })
	} else {
		edits = expandBooleans(edits, raw, output)
	}
	edits = expandBooleans(edits, raw, rawjson.Member(raw, object, "inputSchema"))
	if len(edits) == 0 {
		return raw
	}
	return rawjson.AppendEdited(nil, raw, edits...)
}

var falseSchema = []byte(`{"not":{}}`)

// expandBooleans replaces the schemas true and false of the schema's properties with objects. JSON Schema 2020-12, core,
// section 4.3.2
func expandBooleans(edits []rawjson.Edit, raw []byte, schema rawjson.Span) []rawjson.Edit {
	for w := rawjson.WalkMembers(raw, rawjson.Member(raw, schema, "properties")); w.Next(); {
		switch raw[w.Value.Off] {
		case 't':
			edits = append(edits, rawjson.Edit{Span: w.Value, With: emptyObject})
		case 'f':
			edits = append(edits, rawjson.Edit{Span: w.Value, With: falseSchema})
		}
	}
	return edits
}

// ModernItem returns a legacy server's listed item without the members that the modern era removed (a tool's execution), or
// raw itself if nothing changes. raw must be valid JSON.
func ModernItem(kind ItemKind, raw []byte) []byte {
	if kind != Tools || !bytes.Contains(raw, []byte(`execution"`)) && bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	edit, ok := rawjson.DeleteMember(raw, rawjson.Whole(raw), "execution")
	if !ok {
		return raw
	}
	return rawjson.AppendEdited(nil, raw, edit)
}
