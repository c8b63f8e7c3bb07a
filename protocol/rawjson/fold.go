package rawjson

import "unicode/utf8"

// FoldedLength is an upper bound for the length of known keys: "io.modelcontextprotocol/clientCapabilities" has 42 bytes.
const FoldedLength = 64

// FoldKey appends a key (a raw JSON string without its quotes) with its escapes decoded and its letters in lower case, as
// encoding/json compares keys. Two spellings that a decoder may treat as the same key are equal afterwards.
// It returns nil if the key cannot match an ASCII key of at most FoldedLength bytes.
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
