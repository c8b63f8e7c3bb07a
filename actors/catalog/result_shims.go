package catalog

import (
	"bytes"
	"strconv"

	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// shims are the kinds of content that a client's version does not define. Clients of old versions may reject a whole
// result because of one unknown block, so the block is replaced with text that describes it. Types that no version
// defines are kept, because server and client may have agreed on them.
type shims struct {
	audio bool // since 2025-03-26
	links bool // resource_link, since 2025-06-18
}

func shimsOf(version string) shims {
	if version == "" {
		return shims{}
	}
	return shims{audio: version < protocol.Version20250326, links: version < protocol.Version20250618}
}

func (s shims) any() bool { return s.audio || s.links }

// audio replaces an audio block with text such as [audio: audio/wav, 4711 bytes].
func (r *rewriter) audio(base uint32, block []byte) {
	text := "[audio"
	if kind, ok := rawjson.Unquote(member(block, "mimeType").Of(block)); ok {
		text += ": " + kind
	}
	if data := member(block, "data").Of(block); len(data) > 2 && data[0] == '"' {
		text += ", " + strconv.Itoa(decodedSize(data[1:len(data)-1])) + " bytes"
	}
	r.text(base, block, text+"]")
}

// decodedSize returns the decoded size of base64 text in bytes.
func decodedSize(text []byte) int {
	n := len(text) - bytes.Count(text, []byte(`\`)) // a slash may be written \/
	for len(text) > 0 && text[len(text)-1] == '=' {
		text = text[:len(text)-1]
		n--
	}
	return n * 3 / 4
}

// link replaces a resource link with text that contains its public URI, such as report.pdf (application/pdf):
// resource://files/…. It returns false if the block has no URI.
func (r *rewriter) link(base uint32, block []byte) bool {
	original, ok := rawjson.Unquote(member(block, "uri").Of(block))
	if !ok || original == "" {
		return false
	}
	name, _ := rawjson.Unquote(member(block, "name").Of(block))
	kind, _ := rawjson.Unquote(member(block, "mimeType").Of(block))
	if kind != "" {
		kind = " (" + kind + ")"
	}
	if name+kind != "" {
		name += kind + ": "
	}
	r.text(base, block, name+r.public(original))
	return true
}

// text replaces a block with a text block. Annotations are kept, since they have the same meaning.
func (r *rewriter) text(base uint32, block []byte, text string) {
	with := rawjson.AppendQuoted([]byte(`{"type":"text","text":`), text)
	if annotations := member(block, "annotations"); annotations.Present() {
		with = append(append(with, `,"annotations":`...), annotations.Of(block)...)
	}
	r.edits = append(r.edits, rawjson.Edit{Span: rawjson.Span{Off: base, End: base + uint32(len(block))}, With: append(with, '}')})
}
