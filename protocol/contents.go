package protocol

import "goblin-actor/protocol/rawjson"

var (
	keyContent    = []byte(`"content"`)
	openEmbedded  = []byte(`{"type":"resource","resource":`)
	closeEmbedded = []byte{'}'}
)

// ContentsAsContent appends the edits that turn a result of resources/read into a result of tools/call: each element of
// contents becomes an embedded resource. A result without contents (input_required), or one that already has content, is
// left unchanged. Edits inside the contents may be part of the same AppendEdited call. MCP 2025-11-25, server/tools,
// embedded resources
func ContentsAsContent(edits []rawjson.Edit, f *Frame) []rawjson.Edit {
	contents, keyAt := rawjson.FindMember(f.Raw, f.Result, "contents")
	if !contents.Present() || f.Raw[contents.Off] != '[' || rawjson.Member(f.Raw, f.Result, "content").Present() {
		return edits
	}
	edits = append(edits, rawjson.Edit{Span: rawjson.Span{Off: uint32(keyAt), End: uint32(rawjson.SkipString(f.Raw, keyAt))}, With: keyContent})
	for w := rawjson.WalkElements(f.Raw, contents); w.Next(); {
		edits = append(edits, rawjson.Insert(w.Value.Off, openEmbedded), rawjson.Insert(w.Value.End, closeEmbedded))
	}
	return edits
}
