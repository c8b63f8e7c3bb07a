package config

import "strings"

// blankComments replaces // and /* */ comments in a JSON object with spaces. Other characters keep their positions. Text that is not a JSON
// object is returned unchanged, because // is text in YAML.
func blankComments(text string) string {
	if !beginsJSON(text) {
		return text
	}
	b := []byte(text)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if b[i] != '\n' {
				b[i] = ' '
			}
		}
	}
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '"' || b[i] == '\'':
			i = quoteEnd(text, i)
		case b[i] == '#' && (i == 0 || strings.IndexByte(" \t\n", b[i-1]) >= 0): // a YAML comment
			i = lineEnd(text, i)
		case commentStarts(text, i):
			end := commentEnd(text, i)
			blank(i, end)
			i = end - 1
		}
	}
	return string(b)
}

// beginsJSON reports whether text starts like a JSON object: a brace, then a double quote or the closing brace.
func beginsJSON(text string) bool {
	brace := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case strings.IndexByte(" \t\r\n", c) >= 0:
		case commentStarts(text, i):
			i = commentEnd(text, i) - 1
		case c == '{' && !brace:
			brace = true
		default:
			return brace && (c == '"' || c == '}')
		}
	}
	return false
}

func commentStarts(text string, i int) bool {
	if !strings.HasPrefix(text[i:], "//") && !strings.HasPrefix(text[i:], "/*") {
		return false
	}
	return i == 0 || strings.IndexByte(" \t\n,:{}[]\"/", text[i-1]) >= 0 // otherwise it is part of an unquoted word
}

// commentEnd returns the offset just past the comment at i, or len(text) if it is unterminated.
func commentEnd(text string, i int) int {
	if text[i+1] == '/' {
		return lineEnd(text, i)
	}
	if n := strings.Index(text[i+2:], "*/"); n >= 0 {
		return i + 2 + n + 2
	}
	return len(text)
}

// quoteEnd returns the offset of the quote that ends the string starting at i, or an offset past the text if there is
// none.
func quoteEnd(text string, i int) int {
	quote := text[i]
	for i++; i < len(text) && text[i] != quote; i++ {
		if quote == '"' && text[i] == '\\' {
			i++
		}
	}
	return i
}
