package visible

import (
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns s with its hidden characters escaped. Newline and tab stay, the carriage return of a line ending is dropped,
// and invalid UTF-8 becomes U+FFFD.
func Text(s string) string {
	if !strings.ContainsFunc(s, suspect) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	before := rune(0)
	for i, r := range s {
		rest := s[i+min(utf8.RuneLen(r), len(s)-i):]
		if r == utf8.RuneError {
			rest = "" // not needed: this character is never hidden
		}
		switch {
		case r == '\r' && strings.HasPrefix(rest, "\n"):
			continue
		case Hidden(r) && !stays(r, before, first(rest)):
			escape(&b, r)
			r = 0
		default:
			b.WriteRune(r)
		}
		before = r
	}
	return b.String()
}

// JSON returns a JSON text with the hidden characters in its strings written as \u escapes. The values stay the same.
func JSON(s string) string {
	if !strings.ContainsFunc(s, suspect) {
		return s
	}
	var b strings.Builder
	before := rune(0)
	for i, r := range s {
		if r == utf8.RuneError || !Hidden(r) || stays(r, before, first(s[i+utf8.RuneLen(r):])) {
			b.WriteRune(r)
			before = r
			continue
		}
		before = 0
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			hex(&b, `\u`, high, 4)
			r = low
		}
		hex(&b, `\u`, r, 4)
	}
	return b.String()
}

// Contains reports whether s has hidden characters that Text would escape or drop.
func Contains(s string) bool { return strings.ContainsFunc(s, suspect) && Text(s) != s }

// Cut returns at most limit characters of s, which must have no hidden characters; a limit of 0 means all. The last one
// is "…" if there were more.
func Cut(s string, limit int) string {
	if limit <= 0 || len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	kept := string([]rune(s)[:limit-1])
	return strings.TrimRight(kept, string([]rune{joiner, nonJoiner})) + "…"
}

// suspect reports whether a text with r may need to be escaped.
func suspect(r rune) bool { return r != '\n' && r != '\t' && Hidden(r) }

func first(s string) rune {
	if s == "" {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

func escape(b *strings.Builder, r rune) {
	switch {
	case r < 0x100:
		hex(b, `\x`, r, 2)
	case r < 0x10000:
		hex(b, `\u`, r, 4)
	default:
		hex(b, `\U`, r, 8)
	}
}

// hex writes prefix and the last digits hexadecimal digits of r.
func hex(b *strings.Builder, prefix string, r rune, digits int) {
	b.WriteString(prefix)
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		b.WriteByte("0123456789abcdef"[r>>shift&15])
	}
}

// Writer returns a writer that passes what is written through JSON and then to w. Each Write must contain whole
// characters, which the slog handlers ensure by writing whole lines.
func Writer(w io.Writer) io.Writer { return jsonWriter{w} }

type jsonWriter struct{ w io.Writer }

// Write implements io.Writer.
func (j jsonWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(j.w, JSON(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
