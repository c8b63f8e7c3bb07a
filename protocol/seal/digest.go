package seal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// Digest returns a SHA-256 of a request's method, name or URI (raw JSON string) and arguments (raw JSON object; nil
// means {}), both from a parsed frame. It does not depend on the order of keys, white space and escapes, because a
// client may encode its retry differently. It depends on the spelling of numbers, because some servers distinguish 1
// and 1.0.
//
// The hash covers tagged values. A string contributes its length and decoded text, a number or word its length and bytes, an
// array its elements and an end mark, and an object the number of its members and their digests in ascending order. So one
// pass over the text is enough at any nesting depth.
func Digest(method string, target, arguments []byte) [32]byte {
	d := digester{raw: target}
	d.text('m', []byte(method))
	d.value(0)
	if d.raw, d.at = arguments, 0; arguments == nil {
		d.raw = []byte("{}")
	}
	d.value(0)
	return sha256.Sum256(d.out)
}

// digester reads valid JSON value by value. For other input the digest is undefined.
type digester struct {
	raw []byte
	at  int
	out []byte // pending input of the hash for unfinished values
}

func (d *digester) text(tag byte, text []byte) {
	d.out = append(d.out, tag)
	d.out = binary.AppendUvarint(d.out, uint64(len(text)))
	d.out = append(d.out, text...)
}

// peek skips white space and returns the next byte, or 0 at the end.
func (d *digester) peek() byte {
	for ; d.at < len(d.raw); d.at++ {
		if c := d.raw[d.at]; c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c
		}
	}
	return 0
}

func (d *digester) value(depth int) {
	if depth > protocol.MaxDepth {
		return
	}
	switch d.peek() {
	case '"':
		d.string()
	case '{':
		d.object(depth)
	case '[':
		d.out = append(d.out, '[')
		for d.at++; d.more(']'); {
			from := d.at
			if d.value(depth + 1); d.at == from {
				break // invalid JSON
			}
		}
		d.out = append(d.out, ']')
	default:
		from := d.at
		for d.at < len(d.raw) && bytes.IndexByte([]byte(",]} \n\r\t"), d.raw[d.at]) < 0 {
			d.at++
		}
		d.text('n', d.raw[from:d.at])
	}
}

// more advances to the next element or member and reports whether there is one. At the end it skips the closing bracket.
func (d *digester) more(end byte) bool {
	c := d.peek()
	if c == ',' {
		d.at++
		c = d.peek()
	}
	if c == end {
		d.at++
	}
	return c != end && c != 0 && d.at < len(d.raw)
}

func (d *digester) string() {
	from := d.at
	for d.at++; d.at < len(d.raw) && d.raw[d.at] != '"'; d.at++ {
		if d.raw[d.at] == '\\' {
			d.at++
		}
	}
	d.at = min(d.at+1, len(d.raw))
	inside := d.raw[from:d.at]
	if bytes.IndexByte(inside, '\\') < 0 && len(inside) > 1 {
		d.text('s', inside[1:len(inside)-1])
		return
	}
	text, _ := rawjson.Unquote(inside)
	d.text('s', []byte(text))
}

func (d *digester) object(depth int) {
	mark := len(d.out)
	var members [][32]byte
	for d.at++; d.more('}') && d.raw[d.at] == '"'; {
		d.string()
		if d.peek() == ':' {
			d.at++
		}
		d.value(depth + 1)
		members = append(members, sha256.Sum256(d.out[mark:]))
		d.out = d.out[:mark]
	}
	slices.SortFunc(members, func(a, b [32]byte) int { return bytes.Compare(a[:], b[:]) })
	d.out = append(d.out, '{')
	d.out = binary.AppendUvarint(d.out, uint64(len(members)))
	for i := range members {
		d.out = append(d.out, members[i][:]...)
	}
}
