package main

import (
	"io"
	"os"
	"runtime"
	"strings"
	"unicode"
	"unicode/utf8"
)

// palette paints words; the zero value leaves them as they are.
type palette struct{ on bool }

func (p palette) paint(code, s string) string {
	if !p.on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p palette) bad(s string) string  { return p.paint("1;31", s) }
func (p palette) good(s string) string { return p.paint("32", s) }
func (p palette) warn(s string) string { return p.paint("33", s) }
func (p palette) head(s string) string { return p.paint("1", s) }

// paletteFor returns colours for a terminal, and none for pipes, files, NO_COLOR (https://no-color.org) and TERM=dumb.
func paletteFor(w io.Writer) palette {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !isTerminal(w) {
		return palette{}
	}
	if runtime.GOOS == "windows" && os.Getenv("WT_SESSION") == "" && os.Getenv("TERM") == "" {
		return palette{} // an old console prints escape sequences as text
	}
	return palette{on: true}
}

// isTerminal reports whether w is a character device other than the null device.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// clean makes foreign text harmless to a terminal: control characters other than newline and tab, and the
// characters that reorder what is shown or end a line of it (bidirectional overrides, line separators), become visible escapes like \x1b or \u202e.
// A carriage return before a newline is dropped.
func clean(s string) string {
	if !strings.ContainsFunc(s, harmful) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\r' && strings.HasPrefix(s[i+1:], "\n"):
		case r == utf8.RuneError || harmful(r):
			appendVisible(&b, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func harmful(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.IsControl(r):
		return true
	}
	return r == '\u061c' || r == '\u200e' || r == '\u200f' || r >= '\u2028' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

func appendVisible(b *strings.Builder, r rune) {
	const hex = "0123456789abcdef"
	switch {
	case r == utf8.RuneError:
		b.WriteRune(r)
	case r < 0x100:
		b.WriteString(`\x`)
		b.WriteByte(hex[r>>4])
		b.WriteByte(hex[r&15])
	default:
		b.WriteString(`\u`)
		for shift := 12; shift >= 0; shift -= 4 {
			b.WriteByte(hex[r>>shift&15])
		}
	}
}

// oneLine is clean for a cell of a table: line breaks and tabs become blanks, what is longer than limit runes is cut.
func oneLine(s string, limit int) string {
	s = clean(strings.Join(strings.Fields(s), " "))
	if limit <= 0 || utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}
