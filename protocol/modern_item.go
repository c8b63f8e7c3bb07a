package protocol

import "bytes"

// LegacyItem returns a modern server's listed item as legacy clients can read it; raw itself when nothing changes. Of a tool, an
// outputSchema whose root is no object is left out, and properties that are true or false become schemas that say the same:
// one such tool would cost a TypeScript v1 client the whole list. raw is checked JSON.
func LegacyItem(kind ItemKind, raw []byte) []byte {
	if kind != Tools {
		return raw
	}
	object := Span{0, uint32(len(raw))}
	var edits []Edit
	output := Member(raw, object, "outputSchema")
	if output.Present() && !equalsText(Member(raw, output, "type").Of(raw), "object") {
		edits, _ = dropMembers(edits, raw, object, [2]Span{}, func(key []byte) bool { return sameKey(key, "outputSchema") })
	} else {
		edits = spellBooleans(edits, raw, output)
	}
	edits = spellBooleans(edits, raw, Member(raw, object, "inputSchema"))
	if len(edits) == 0 {
		return raw
	}
	return AppendEdited(nil, raw, edits...)
}

var falseSchema = []byte(`{"not":{}}`)

// spellBooleans writes the schema's properties that are booleans as objects. // JSON Schema 2020-12, core, 4.3.2
func spellBooleans(edits []Edit, raw []byte, schema Span) []Edit {
	for w := walkMembers(raw, Member(raw, schema, "properties")); w.next(); {
		switch raw[w.value.Off] {
		case 't':
			edits = append(edits, Edit{w.value, emptyObject})
		case 'f':
			edits = append(edits, Edit{w.value, falseSchema})
		}
	}
	return edits
}

// ModernItem returns a legacy server's listed item without what the modern era has dropped, a tool's execution; raw itself when
// nothing changes. raw is checked JSON.
func ModernItem(kind ItemKind, raw []byte) []byte {
	if kind != Tools || !bytes.Contains(raw, []byte(`execution"`)) && bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	edit, ok := DeleteMember(raw, Span{0, uint32(len(raw))}, "execution")
	if !ok {
		return raw
	}
	return AppendEdited(nil, raw, edit)
}
