package protocol

var (
	keyContent    = []byte(`"content"`)
	openEmbedded  = []byte(`{"type":"resource","resource":`)
	closeEmbedded = []byte{'}'}
)

// ContentsAsContent appends the edits that make a result of resources/read one of tools/call: each of its contents becomes an
// embedded resource. A result without contents (a question) stays as it is. Edits inside the contents can be made in the same
// AppendEdited. // MCP 2025-11-25, server/tools, embedded resources
func ContentsAsContent(edits []Edit, f *Frame) []Edit {
	contents, keyAt := findMember(f.Raw, f.Result, "contents")
	if !contents.Present() || f.Raw[contents.Off] != '[' || Member(f.Raw, f.Result, "content").Present() {
		return edits
	}
	edits = append(edits, Edit{Span: Span{uint32(keyAt), uint32(skipString(f.Raw, keyAt))}, With: keyContent})
	for w := walkElements(f.Raw, contents); w.next(); {
		edits = append(edits, Insert(w.value.Off, openEmbedded), Insert(w.value.End, closeEmbedded))
	}
	return edits
}
