package protocol

import (
	"encoding/binary"
	"math/bits"

	"goblin-actor/protocol/rawjson"
)

// scanner validates JSON text (RFC 8259) and its UTF-8 in one pass, without recursion and without allocation.
// Offsets are into raw. The scan functions return the offset after what they read, or ^offset of the error, which is
// negative. s.deep reports whether the error was the nesting depth.
type scanner struct {
	raw      []byte
	newline  bool // there is a \n or \r between tokens
	deep     bool // the text is nested too deep
	resource bool // see Frame.Resource
	failure  bool // see Frame.Failure
	depth    int
	inside   [MaxDepth / 64]uint64 // bit d is 1 if the d-th open bracket is { and 0 if it is [
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// special sets the high bit of each byte of x that is not plain inside a string: quote, backslash, control characters and
// non-ASCII. Only the lowest set bit is exact, as borrows propagate upwards.
func special(x uint64) uint64 { return marks(x) & highBits }

// marks is like special, but leaves the other bits of each byte undefined. Flipping bit 1 moves the quote, 0x22, directly
// after the control characters and before space and exclamation mark. So one subtraction finds control characters and quotes.
func marks(x uint64) uint64 {
	return x | (x ^ lowBits*2 - lowBits*0x21) | (x ^ lowBits*'\\' - lowBits)
}

// skipPlain returns the offset of the first byte at or after i that is not plain inside a string; len(raw) if there is none.
func skipPlain(raw []byte, i int) int {
	for ; i+32 <= len(raw); i += 32 {
		w := raw[i : i+32 : i+32]
		a, b := binary.LittleEndian.Uint64(w), binary.LittleEndian.Uint64(w[8:])
		c, d := binary.LittleEndian.Uint64(w[16:]), binary.LittleEndian.Uint64(w[24:])
		if (marks(a)|marks(b)|marks(c)|marks(d))&highBits != 0 {
			break
		}
	}
	for ; i+8 <= len(raw); i += 8 {
		if m := special(binary.LittleEndian.Uint64(raw[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(raw); i++ {
		if c := raw[i]; c < ' ' || c >= 0x80 || c == '"' || c == '\\' {
			return i
		}
	}
	return i
}

// scanString reads the string whose opening quote is at i.
func scanString(raw []byte, i int) int {
	i++
	for {
		// Most strings are short: the first 32 bytes are checked one word at a time, and skipPlain reads the rest of
		// longer ones.
		var m uint64
		for end := i + 32; m == 0 && i < end && i+8 <= len(raw); {
			if m = special(binary.LittleEndian.Uint64(raw[i:])); m == 0 {
				i += 8
			}
		}
		if m != 0 {
			i += bits.TrailingZeros64(m) >> 3
		} else if i = skipPlain(raw, i); i >= len(raw) {
			return ^i
		}
		switch c := raw[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			n := escapeLength(raw[i:])
			if n == 0 {
				return ^i
			}
			i += n
		case c < ' ':
			return ^i
		default:
			if i = scanRunes(raw, i); i < 0 {
				return i
			}
		}
	}
}

// escapeLength returns the length of the escape at the start of b, or 0 if it is malformed. A \u escape of an unpaired
// surrogate is accepted, as in encoding/json.
func escapeLength(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if rawjson.Hex4(b[2:]) >= 0 {
			return 6
		}
	}
	return 0
}

// scanRunes checks the non-ASCII characters from i on, up to the next ASCII character. It checks characters of two and three
// bytes itself, with one load each.
func scanRunes(raw []byte, i int) int {
	for i+4 <= len(raw) {
		switch x := binary.LittleEndian.Uint32(raw[i:]); {
		case x&0xC0C0F0 == 0x8080E0:
			if odd := x & 0x200F; odd == 0 || odd == 0x200D { // overlong, or a surrogate
				return ^i
			}
			i += 3
		case x&0xC0E0 == 0x80C0:
			if x&0x1E == 0 { // overlong
				return ^i
			}
			i += 2
		case x&0x80 == 0:
			return i
		default:
			return scanRarerRunes(raw, i)
		}
	}
	return scanRarerRunes(raw, i)
}

// scanRarerRunes does the same as scanRunes for characters of any length (RFC 3629, section 4), byte by byte.
func scanRarerRunes(raw []byte, i int) int {
	for i < len(raw) && raw[i] >= 0x80 {
		c := raw[i]
		low, high, n := byte(0x80), byte(0xBF), 0 // bounds of the second byte, and the length
		switch {
		case 0xC2 <= c && c <= 0xDF:
			n = 2
		case 0xE0 <= c && c <= 0xEF:
			n = 3
			if c == 0xE0 {
				low = 0xA0 // overlong
			} else if c == 0xED {
				high = 0x9F // surrogates
			}
		case 0xF0 <= c && c <= 0xF4:
			n = 4
			if c == 0xF0 {
				low = 0x90 // overlong
			} else if c == 0xF4 {
				high = 0x8F // beyond U+10FFFF
			}
		default:
			return ^i
		}
		if i+n > len(raw) || raw[i+1] < low || raw[i+1] > high {
			return ^i
		}
		for _, t := range raw[i+2 : i+n] {
			if t&0xC0 != 0x80 {
				return ^i
			}
		}
		i += n
	}
	return i
}

// scanNumber reads the number at i, which begins with a digit or a minus sign (RFC 8259, section 6).
func scanNumber(raw []byte, i int) int {
	if raw[i] == '-' {
		i++
	}
	switch {
	case i < len(raw) && raw[i] == '0':
		i++
	case i < len(raw) && raw[i]-'1' < 9:
		i = skipDigits(raw, i)
	default:
		return ^i
	}
	if i < len(raw) && raw[i] == '.' {
		from := i + 1
		if i = skipDigits(raw, from); i == from {
			return ^i
		}
	}
	if i < len(raw) && raw[i]|0x20 == 'e' {
		i++
		if i < len(raw) && (raw[i] == '+' || raw[i] == '-') {
			i++
		}
		from := i
		if i = skipDigits(raw, from); i == from {
			return ^i
		}
	}
	return i
}

func skipDigits(raw []byte, i int) int {
	for i < len(raw) && raw[i]-'0' < 10 {
		i++
	}
	return i
}

// scanWord reads true, false or null.
func scanWord(raw []byte, i int, word string) int {
	if len(raw)-i < len(word) || string(raw[i:i+len(word)]) != word {
		return ^i
	}
	return i + len(word)
}

// space skips white space.
func (s *scanner) space(i int) int {
	for i < len(s.raw) {
		switch s.raw[i] {
		case ' ', '\t':
		case '\n', '\r':
			s.newline = true
		default:
			return i
		}
		i++
	}
	return i
}

// scalar reads the string, number, true, false or null at i.
func scalar(raw []byte, i int) int {
	switch c := raw[i]; c {
	case '"':
		return scanString(raw, i)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return scanNumber(raw, i)
	case 't':
		return scanWord(raw, i, "true")
	case 'f':
		return scanWord(raw, i, "false")
	case 'n':
		return scanWord(raw, i, "null")
	}
	return ^i
}

// open records an opening bracket: 1 for an object, 0 for an array. It returns false if the depth would exceed MaxDepth.
func (s *scanner) open(object uint64) bool {
	if s.depth == MaxDepth {
		s.deep = true
		return false
	}
	word, bit := s.depth/64, uint(s.depth%64)
	s.inside[word] = s.inside[word]&^(1<<bit) | object<<bit
	s.depth++
	return true
}

// inObject reports whether the innermost open bracket is {.
func (s *scanner) inObject() bool {
	d := s.depth - 1
	return s.inside[d/64]>>uint(d%64)&1 != 0
}

// key reads a member's key at i, and the colon and white space after it.
func (s *scanner) key(i int) int {
	if i >= len(s.raw) || s.raw[i] != '"' {
		return ^i
	}
	if i = scanString(s.raw, i); i < 0 {
		return i
	}
	return s.colon(i)
}

// colon reads the colon and white space between a key and its value.
func (s *scanner) colon(i int) int {
	if i < len(s.raw) && s.raw[i] <= ' ' {
		i = s.space(i)
	}
	if i >= len(s.raw) || s.raw[i] != ':' {
		return ^i
	}
	if i++; i < len(s.raw) && s.raw[i] <= ' ' {
		i = s.space(i)
	}
	return i
}

// value reads the value at i, including nested values.
func (s *scanner) value(i int) int {
	base := s.depth
	for {
		if i >= len(s.raw) {
			return ^i
		}
		// A value begins at i.
		switch c := s.raw[i]; c {
		case '{', '[':
			if !s.open(uint64(c>>5) & 1) {
				return ^i
			}
			if i++; i < len(s.raw) && s.raw[i] <= ' ' {
				i = s.space(i)
			}
			if i < len(s.raw) && s.raw[i] == c+2 {
				s.depth--
				i++
			} else if c == '{' {
				if i = s.key(i); i < 0 {
					return i
				}
				continue
			} else {
				continue
			}
		default:
			if c == '"' {
				s.noteString(i)
			} else if c == 't' {
				s.noteTrue(i)
			}
			if i = scalar(s.raw, i); i < 0 {
				return i
			}
		}
		// A value ended before i.
		if i = s.after(i, base); i < 0 || s.depth == base {
			return i
		}
	}
}

// after reads what follows a value: closing brackets, and a comma with the next key if there is one. It stops at the next
// value, or as soon as the depth is base again.
func (s *scanner) after(i, base int) int {
	for s.depth > base {
		if i < len(s.raw) && s.raw[i] <= ' ' {
			i = s.space(i)
		}
		if i >= len(s.raw) {
			return ^i
		}
		object := s.inObject()
		switch c := s.raw[i]; {
		case c == ',':
			i++
			if i < len(s.raw) && s.raw[i] <= ' ' {
				i = s.space(i)
			}
			if object {
				return s.key(i)
			}
			return i
		case c == '}' && object, c == ']' && !object:
			s.depth--
			i++
		default:
			return ^i
		}
	}
	return i
}

// error returns the error for a negative offset that a scan function returned.
func (s *scanner) error(at int) error {
	if s.deep {
		return fault(ErrDepth, ^at, "at most 512 nested arrays and objects are allowed")
	}
	if ^at >= len(s.raw) {
		return fault(ErrSyntax, ^at, "unexpected end of JSON")
	}
	return fault(ErrSyntax, ^at, "unexpected character or invalid UTF-8")
}

// Valid checks that raw is one JSON value in valid UTF-8, nested at most MaxDepth deep. The error is a *ParseError.
func Valid(raw []byte) error {
	s := scanner{raw: raw}
	i := s.value(s.space(0))
	if i >= 0 {
		if i = s.space(i); i == len(raw) {
			return nil
		}
		i = ^i
	}
	return s.error(i)
}
