package catalog

import (
	"bytes"
	"strconv"

	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// shims say which kinds of content a client's version does not know. Clients of that time refuse a whole result for
// one block of a type they do not know, so it becomes text that says what was there. Types no version knows stay:
// their server and client have agreed on them.
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

// audio replaces a block of sound by a text: [audio: audio/wav, 4711 bytes]
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

// decodedSize is how many bytes base64 text stands for.
func decodedSize(text []byte) int {
	n := len(text) - bytes.Count(text, []byte(`\`)) // a slash may be written \/
	for len(text) > 0 && text[len(text)-1] == '=' {
		text = text[:len(text)-1]
		n--
	}
	return n * 3 / 4
}

// link replaces a resource link by a text with its public URI: report.pdf (application/pdf): resource://files/…
// It is false when the block has no URI to tell.
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

// text puts a text block in the place of a block; annotations mean the same in both.
func (r *rewriter) text(base uint32, block []byte, text string) {
	with := rawjson.AppendQuoted([]byte(`{"type":"text","text":`), text)
	if annotations := member(block, "annotations"); annotations.Present() {
		with = append(append(with, `,"annotations":`...), annotations.Of(block)...)
	}
	r.edits = append(r.edits, rawjson.Edit{Span: rawjson.Span{Off: base, End: base + uint32(len(block))}, With: append(with, '}')})
}
