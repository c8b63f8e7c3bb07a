package catalog

import (
	"unsafe"

	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// maxStyled is the maximum number of URIs in one result that are searched for among the templates. The others become
// URIs in style "prefix", which needs no search.
const maxStyled = 256

// RewriteResult returns the edits that make the URIs in a server's result public: resource links and embedded resources
// in results of tools/call and prompts/get, and contents of resources/read. Text and blobs are never modified. A result
// of tools/call or prompts/get without a resource is not scanned.
func RewriteResult(v *View, server *Server, m protocol.Method, f *protocol.Frame) []rawjson.Edit {
	return RewriteResultFor(v, server, "", m, f)
}

// RewriteResultFor is RewriteResult for a client of the given protocol version. It also replaces content that the version
// does not define with text: audio before 2025-03-26, and resource links before 2025-06-18. With version "", it replaces
// nothing.
func RewriteResultFor(v *View, server *Server, version string, m protocol.Method, f *protocol.Frame) []rawjson.Edit {
	old := shimsOf(version)
	if v.pass && !old.any() || !f.Result.Present() {
		return nil
	}
	r := rewriter{view: v, server: server, raw: f.Raw, styled: maxStyled, search: search{view: v}, old: old}
	var info protocol.ResultInfo
	switch m {
	case protocol.MethodToolsCall, protocol.MethodPromptsGet:
		if !f.Resource && !old.audio || info.Scan(f) != nil {
			return nil
		}
		r.blocks(info.Content)
		r.each(info.Messages, func(base uint32, item protocol.Item) {
			r.blocks(shift(base, member(item.Raw, "content")))
		})
	case protocol.MethodResourcesRead:
		if v.pass || info.Scan(f) != nil {
			return nil
		}
		r.each(info.Contents, func(base uint32, item protocol.Item) { r.rename(shift(base, item.URI)) })
	}
	return r.edits
}

// rewriter collects the edits of one result.
type rewriter struct {
	view   *View
	server *Server
	raw    []byte
	edits  []rawjson.Edit
	styled int    // URIs that may still be searched for
	search search // the shared budget of these searches
	old    shims
}

// blocks edits a content block or an array of them.
func (r *rewriter) blocks(content rawjson.Span) {
	switch text := content.Of(r.raw); {
	case len(text) == 0:
	case text[0] == '[':
		r.each(content, func(base uint32, item protocol.Item) { r.block(base, item.Raw) })
	case text[0] == '{':
		r.block(content.Off, text)
	}
}

func (r *rewriter) block(base uint32, block []byte) {
	kind, _ := rawjson.Unquote(member(block, "type").Of(block))
	switch kind {
	case "audio":
		if r.old.audio {
			r.audio(base, block)
		}
	case "resource_link":
		if r.old.links && r.link(base, block) {
			return
		}
		r.rename(shift(base, member(block, "uri")))
	case "resource":
		embedded := member(block, "resource")
		r.rename(shift(base, rawjson.Member(block, embedded, "uri")))
	}
}

// each calls a function with every object of an array, and with the object's offset in the frame.
func (r *rewriter) each(array rawjson.Span, do func(base uint32, item protocol.Item)) {
	if !array.Present() || r.raw[array.Off] != '[' {
		return
	}
	_ = protocol.Items(r.raw, array, func(item protocol.Item) bool { // a result of another form is not modified
		do(offset(r.raw, item.Raw), item)
		return true
	})
}

// rename replaces the URI at the span with the public one.
func (r *rewriter) rename(uri rawjson.Span) {
	original, ok := rawjson.Unquote(uri.Of(r.raw))
	if !ok || original == "" {
		return
	}
	if public := r.public(original); public != original {
		r.edits = append(r.edits, rawjson.Edit{Span: uri, With: rawjson.Quote(public)})
	}
}

// public returns the public URI of the server's URI.
func (r *rewriter) public(original string) string {
	if r.view.pass {
		return original
	}
	q := &r.search
	if r.styled == 0 {
		q = nil
	}
	public, searched := r.view.publicURI(r.server, original, q)
	if searched {
		r.styled--
	}
	return public
}

// member returns the span of a member of the object raw.
func member(raw []byte, key string) rawjson.Span {
	if len(raw) == 0 || raw[0] != '{' {
		return rawjson.Span{}
	}
	return rawjson.Member(raw, rawjson.Span{Off: 0, End: uint32(len(raw))}, key)
}

// shift shifts a span inside a part by the part's offset.
func shift(base uint32, s rawjson.Span) rawjson.Span {
	if !s.Present() {
		return s
	}
	return rawjson.Span{Off: base + s.Off, End: base + s.End}
}

// offset returns the offset of part, a slice of whole, in whole.
func offset(whole, part []byte) uint32 {
	return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(part))) - uintptr(unsafe.Pointer(unsafe.SliceData(whole))))
}
