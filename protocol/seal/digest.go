package seal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// Digest is a SHA-256 of what a request asks: its method, name or URI (raw JSON string) and arguments (raw JSON object, nil
// = {}), both from a parsed frame. A client may write its retry anew: the order of keys, white space and escapes do not
// matter. Numbers must be spelled alike: 1 and 1.0 are different to some servers.
//
// What is hashed are tagged values: of strings the length and the decoded text, of numbers and words the length and the
// bytes, of arrays the elements and an end, of objects the number of members and, in ascending order, the
// digests of the members, each of a key and a value. So it takes one pass however deep the arguments nest.
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

// digester reads one value after the other of checked JSON; of anything else it makes some digest or other.
type digester struct {
	raw []byte
	at  int
	out []byte // what is to be hashed of the values that are not finished
}

func (d *digester) text(tag byte, text []byte) {
	d.out = append(d.out, tag)
	d.out = binary.AppendUvarint(d.out, uint64(len(text)))
	d.out = append(d.out, text...)
}

// peek skips white space and returns the next byte, 0 at the end.
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
				break // not JSON
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

// more reports whether another element or member follows, and goes to it; at the end it goes behind the bracket.
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
