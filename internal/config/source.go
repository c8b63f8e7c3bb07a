package config

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Limits that are checked before the YAML parser runs. Its time grows with the square of some of them (goccy/go-yaml 1.19.2, 2 cores,
// November 2026): 50 000 nested brackets take 3.4 s, and 30 000 keys of one block mapping take 1.5 s. Within these limits, no known input takes
// longer than a second; see TestBoundedTime.
const (
	maxFileBytes  = 4 << 20
	maxBrackets   = 256     // brackets open at the same time, including those in strings
	maxBlockLines = 20_000  // lines outside brackets, without comments
	maxTokens     = 200_000 // brackets, colons, commas and other marks, including those in strings
	maxIndent     = 1000    // spaces and dashes before the first word of a line
)

// sourceFault reports a file that is rejected before it is parsed.
type sourceFault struct {
	line, column int // 0 for the whole file
	message      string
	hint         string
}

// decodeText converts UTF-8 or UTF-16 of either byte order, with or without byte order mark, to UTF-8 without it, with LF line endings.
func decodeText(data []byte) ([]byte, *sourceFault) {
	if len(data) > maxFileBytes {
		return nil, &sourceFault{message: fmt.Sprintf("%d bytes is too large: the limit is %d MiB", len(data), maxFileBytes>>20)}
	}
	if bytes.HasPrefix(data, []byte{0xff, 0xfe, 0, 0}) || bytes.HasPrefix(data, []byte{0, 0, 0xfe, 0xff}) {
		return nil, &sourceFault{message: "UTF-32 is not supported", hint: "save the file as UTF-8"}
	}
	enc, data := encodingOf(data)
	data, err := enc.decode(data)
	if err != nil {
		return nil, &sourceFault{message: err.Error(), hint: "save the file as UTF-8"}
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	if fault := checkCharacters(data); fault != nil {
		return nil, fault
	}
	return data, nil
}

// checkCharacters rejects invalid UTF-8 and control characters (YAML 1.2.2, section 5.1).
func checkCharacters(data []byte) *sourceFault {
	line, column := 1, 0
	for rest := data; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		rest = rest[size:]
		column++
		switch {
		case r == '\n':
			line, column = line+1, 0
		case r == utf8.RuneError && size == 1:
			return &sourceFault{line, column, "not UTF-8", "save the file as UTF-8"}
		case r < ' ' && r != '\t' && r != '\r', r == 0x7f:
			return &sourceFault{line, column, fmt.Sprintf("control character U+%04X", r), `inside double quotes, write it as \x` + fmt.Sprintf("%02x", r)}
		}
	}
	return nil
}

// checkShape rejects input that would take the parser too long. It does not distinguish structure from strings and comments, so the
// limits are generous.
func checkShape(data []byte) *sourceFault {
	open, tokens, lines := 0, 0, 0
	number := 0
	for line := range bytes.Lines(data) {
		number++
		word := bytes.TrimLeft(line, " \t-?\n")
		if len(line)-len(word) > maxIndent {
			return &sourceFault{number, 1, fmt.Sprintf("indented by more than %d characters", maxIndent), ""}
		}
		if len(word) > 0 && word[0] != '#' && open <= 0 {
			lines++
		}
		for i, c := range line {
			switch c {
			case '[', '{':
				open++
				tokens++
			case ']', '}':
				open--
				tokens++
			case ',', ':', '&', '*', '!', '#', '?', '-', '"', '\'', '%', '|', '>':
				tokens++
			}
			if open > maxBrackets {
				return &sourceFault{number, utf8.RuneCount(line[:i]) + 1, fmt.Sprintf("more than %d brackets are open", maxBrackets), ""}
			}
		}
		switch {
		case lines > maxBlockLines:
			return &sourceFault{number, 1, fmt.Sprintf("more than %d lines outside brackets", maxBlockLines), ""}
		case tokens > maxTokens:
			return &sourceFault{number, 1, fmt.Sprintf("more than %d marks such as colons and commas", maxTokens), ""}
		}
	}
	return nil
}
