package protocol

import (
	"encoding/binary"
	"math/bits"

	"goblin-actor/protocol/rawjson"
)

// The scan records whether a message contains certain words, so that a large result need not be searched again. The words
// are at the beginning of a string or directly before true, so the scan checks only these places.

// wordResource is the first eight bytes of the content types that have URIs: resource and resource_link.
const wordResource = 'r' | 'e'<<8 | 's'<<16 | 'o'<<24 | 'u'<<32 | 'r'<<40 | 'c'<<48 | 'e'<<56

// noteString checks the string value whose opening quote is at i.
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
	// The first byte that differs may start an escape. A letter can only be escaped as \u.
	at := bits.TrailingZeros64(word^wordResource) / 8
	if s.raw[i+1+at] == '\\' && s.raw[i+2+at] == 'u' {
		s.resource = true
	}
}

// noteTrue checks the key of the value true at i.
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
