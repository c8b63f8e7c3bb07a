package config

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Caps, all checked before the YAML parser sees a byte. Its time grows with the square of some of them (goccy/go-yaml
// 1.19.2, 2 cores, November 2026): 50 000 nested brackets take it 3.4 s and 30 000 keys of one block mapping 1.5 s.
// At these caps no input we found takes longer than a second; TestBoundedTime holds that.
const (
	maxFileBytes  = 4 << 20
	maxBrackets   = 256    // open at once, brackets inside of texts counted too
	maxBlockLines = 20_000 // outside of brackets, comments not counted
	maxTokens     = 200_000
	maxIndent     = 1000 // blanks and dashes before the first word of a line
)

// sourceFault is what is wrong with a file before it is YAML.
type sourceFault struct {
	line, column int // 0 = the whole file
	message      string
	hint         string
}

// decodeText returns data as UTF-8 without BOM and with line feeds only.
// It takes UTF-8 and UTF-16, either byte order, with or without BOM.
func decodeText(data []byte) ([]byte, *sourceFault) {
	if len(data) > maxFileBytes {
		return nil, &sourceFault{message: fmt.Sprintf("%d bytes are too many: a config has at most %d MiB", len(data), maxFileBytes>>20)}
	}
	if bytes.HasPrefix(data, []byte{0xff, 0xfe, 0, 0}) || bytes.HasPrefix(data, []byte{0, 0, 0xfe, 0xff}) {
		return nil, &sourceFault{message: "UTF-32 is not read", hint: "save the file as UTF-8"}
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

// checkCharacters finds what no text has: bytes that are not UTF-8 and control characters (YAML 1.2.2, 5.1).
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
			return &sourceFault{line, column, fmt.Sprintf("control character U+%04X", r), `inside of double quotes write it as \x` + fmt.Sprintf("%02x", r)}
		}
	}
	return nil
}

// checkShape refuses what would keep the parser busy for long. It counts roughly, without knowing texts and comments
// from structure, so the caps leave room.
func checkShape(data []byte) *sourceFault {
	open, tokens, lines := 0, 0, 0
	number := 0
	for line := range bytes.Lines(data) {
		number++
		word := bytes.TrimLeft(line, " \t-?\n")
		if len(line)-len(word) > maxIndent {
			return &sourceFault{number, 1, fmt.Sprintf("indented by more than %d", maxIndent), ""}
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
			return &sourceFault{number, 1, fmt.Sprintf("more than %d lines", maxBlockLines), ""}
		case tokens > maxTokens:
			return &sourceFault{number, 1, fmt.Sprintf("more than %d marks such as colons and commas", maxTokens), ""}
		}
	}
	return nil
}
