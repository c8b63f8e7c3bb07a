package rawjson

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote decodes a raw JSON string, including its quotes. It reports false if v is not a string.
// An unpaired surrogate becomes U+FFFD, as in encoding/json.
func Unquote(v []byte) (string, bool) {
	if len(v) < 2 || v[0] != '"' || v[len(v)-1] != '"' {
		return "", false
	}
	body := v[1 : len(v)-1]
	if bytes.IndexByte(body, '\\') < 0 {
		return string(body), true
	}
	out, ok := AppendUnescaped(make([]byte, 0, len(body)), body)
	if !ok {
		return "", false
	}
	return string(out), true
}

// StringIs reports whether a raw JSON string, including its quotes, equals text after decoding escapes.
func StringIs(raw []byte, text string) bool {
	if len(raw) < 2 {
		return false
	}
	body := raw[1 : len(raw)-1]
	if bytes.IndexByte(body, '\\') < 0 {
		return string(body) == text
	}
	decoded, ok := Unquote(raw)
	return ok && decoded == text
}

// AppendUnescaped appends body, a JSON string without its quotes, with its escapes decoded. It reports false for an
// invalid escape.
func AppendUnescaped(dst, body []byte) ([]byte, bool) {
	for len(body) > 0 {
		i := bytes.IndexByte(body, '\\')
		if i < 0 {
			return append(dst, body...), true
		}
		dst = append(dst, body[:i]...)
		r, n := unescape(body[i:])
		if n == 0 {
			return dst, false
		}
		dst = utf8.AppendRune(dst, r)
		body = body[i+n:]
	}
	return dst, true
}

// unescape decodes the escape at the start of b. It returns the rune and the length of the escape, or length 0 if it
// is invalid.
func unescape(b []byte) (rune, int) {
	if len(b) < 2 {
		return 0, 0
	}
	switch b[1] {
	case '"', '\\', '/':
		return rune(b[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r := Hex4(b[2:])
		if r < 0 {
			return 0, 0
		}
		if utf16.IsSurrogate(r) {
			if len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
				if pair := utf16.DecodeRune(r, Hex4(b[8:])); pair != utf8.RuneError {
					return pair, 12
				}
			}
			return utf8.RuneError, 6
		}
		return r, 6
	}
	return 0, 0
}

// Hex4 returns the value of the four hexadecimal digits at the start of b, or -1 if there are none.
func Hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	r := rune(0)
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// AppendQuoted appends s as a JSON string. It escapes only where required. Invalid UTF-8 becomes U+FFFD.
func AppendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[start:i]...), "\uFFFD"...)
				start = i + n
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

// Quote returns s as a JSON string.
func Quote(s string) []byte { return AppendQuoted(make([]byte, 0, len(s)+2), s) }
