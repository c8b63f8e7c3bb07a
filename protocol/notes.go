package protocol

import (
	"encoding/binary"
	"math/bits"

	"goblin-actor/protocol/rawjson"
)

// What the scan notes in passing spares a large result a search of its own: the words a gateway looks for stand at the
// beginning of a string or in front of the word true, so a look at these places is enough.

// wordResource is how the types of the content blocks that hold URIs begin, as eight bytes.
const wordResource = 'r' | 'e'<<8 | 's'<<16 | 'o'<<24 | 'u'<<32 | 'r'<<40 | 'c'<<48 | 'e'<<56

// noteString looks at the value whose opening quote stands at i.
func (s *scanner) noteString(i int) {
	if len(s.raw)-i < len(`"resource"`) {
		return
	}
	word := binary.LittleEndian.Uint64(s.raw[i+1:])
	if word == wordResource {
		next := s.raw[i+len(`"resource`)]
		s.resource = s.resource || next == '"' || next == '_' || next == '\\'
		return
	}
	// The first byte that differs may be an escape: of a letter it can only be \u.
	at := bits.TrailingZeros64(word^wordResource) / 8
	if s.raw[i+1+at] == '\\' && s.raw[i+2+at] == 'u' {
		s.resource = true
	}
}

// noteTrue looks at the key of the true at i.
func (s *scanner) noteTrue(i int) {
	const key = `"isError"`
	for i--; i > 0 && rawjson.IsSpace(s.raw[i]); i-- {
	}
	if i <= 0 || s.raw[i] != ':' {
		return
	}
	for i--; i > 0 && rawjson.IsSpace(s.raw[i]); i-- {
	}
	if i++; i >= len(key) && string(s.raw[i-len(key):i]) == key {
		s.failure = true
	}
}
