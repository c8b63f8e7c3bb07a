package rawjson

import "unicode/utf8"

// foldedLength is how long a key we route on can be, with room: "io.modelcontextprotocol/clientCapabilities" is 42.
const FoldedLength = 64

// foldKey appends the inside of a raw JSON string with its escapes decoded and its letters in lower case the way
// encoding/json compares keys, so that two spellings a decoder may take for the same key come out equal.
// It returns nil when the key is no spelling of one we know: not ASCII, or too long.
func FoldKey(dst, key []byte) []byte {
	if len(key) > 6*FoldedLength {
		return nil
	}
	for i := 0; i < len(key); {
		r, n := rune(key[i]), 1
		if r == '\\' {
			r, n = unescape(key[i:])
		} else if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(key[i:])
		}
		if n == 0 || len(dst) == cap(dst) {
			return nil
		}
		i += n
		switch {
		case 'A' <= r && r <= 'Z':
			r += 'a' - 'A'
		case r == 'ſ':
			r = 's'
		case r == '\u212A': // the Kelvin sign
			r = 'k'
		case r >= utf8.RuneSelf:
			return nil
		}
		dst = append(dst, byte(r))
	}
	return dst
}
