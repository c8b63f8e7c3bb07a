package desktop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	wording "goblin-actor/internal/decode"
)

// Limits that are checked before parsing. The parser needs about 120 bytes per value.
const (
	MaxFileBytes = 16 << 20 // maximum size of a client's file
	maxDepth     = 500
	maxMarks     = 1 << 20 // maximum number of commas, colons and brackets
)

// ErrByHand is wrapped by errors about a file that is not clear enough to edit.
var ErrByHand = errors.New("edit the file by hand")

// SyntaxError is the position of a syntax error. Its message quotes at most one character of the file.
type SyntaxError struct {
	Line, Column int // from 1; 0 if unknown
	Message      string
}

func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return "not valid JSON: " + e.Message
	}
	return fmt.Sprintf("not valid JSON: line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// parse parses text as JSON with comments and trailing commas. The root must be an object.
func parse(text string) (hujson.Value, error) {
	if err := measure(text); err != nil {
		return hujson.Value{}, err
	}
	root, err := hujson.Parse([]byte(text + "\n")) // a comment at the end needs a line feed
	if err != nil {
		e := &SyntaxError{Message: "unexpected end or character"}
		rest, _ := strings.CutPrefix(err.Error(), "hujson: ")
		if n, _ := fmt.Sscanf(rest, "line %d, column %d:", &e.Line, &e.Column); n == 2 {
			_, e.Message, _ = strings.Cut(rest, ": ")
		}
		if strings.HasPrefix(e.Message, "invalid literal") { // the message quotes the literal, which may be a secret
			e.Message = "invalid literal"
		}
		return root, e
	}
	if _, ok := root.Value.(*hujson.Object); !ok {
		return root, fmt.Errorf("the file does not contain a JSON object: %w", ErrByHand)
	}
	return root, nil
}

// orEmpty returns text, or an empty object if text contains only white space.
func orEmpty(text string) string {
	if strings.TrimSpace(text) == "" {
		return "{}\n"
	}
	return text
}

// measure rejects input that is expensive to parse. It recognizes strings and comments like the parser, so it counts
// exactly the brackets for which the parser recurses.
func measure(text string) error {
	if len(text) > MaxFileBytes {
		return fmt.Errorf("the file is larger than %d MiB: %w", MaxFileBytes>>20, ErrByHand)
	}
	depth, marks := 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			i = textEnd(text, i)
		case c == '/':
			i = commentEnd(text, i)
		case c == '{' || c == '[':
			depth++
			marks++
		case c == '}' || c == ']':
			depth--
		case c == ',' || c == ':':
			marks++
		}
		if depth > maxDepth || marks > maxMarks {
			return fmt.Errorf("the file has too many brackets or values: %w", ErrByHand)
		}
	}
	return nil
}

// textEnd returns the offset of the quote that ends the string starting at i, or an offset past the end of s.
func textEnd(s string, i int) int {
	for i++; i < len(s) && s[i] != '"'; i++ {
		if s[i] == '\\' {
			i++
		}
	}
	return i
}

// commentEnd returns the offset of the last character of the comment at i, i if there is none, or len(s) if it is
// unterminated.
func commentEnd(s string, i int) int {
	var closing string
	switch {
	case strings.HasPrefix(s[i:], "//"):
		closing = "\n"
	case strings.HasPrefix(s[i:], "/*"):
		closing = "*/"
	default:
		return i
	}
	n := strings.Index(s[i+2:], closing)
	if n < 0 {
		return len(s)
	}
	return i + 2 + n + len(closing) - 1
}

// member finds a key of an object, or returns nil. A duplicate key is an error, because programs differ in which one
// they use.
func member(v hujson.Value, key string) (*hujson.ObjectMember, error) {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("the parent of %q is not an object: %w", key, ErrByHand)
	}
	var found *hujson.ObjectMember
	for i := range object.Members {
		if name, _ := object.Members[i].Name.Value.(hujson.Literal); name.String() != key {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("duplicate key %q: %w", key, ErrByHand)
		}
		found = &object.Members[i]
	}
	return found, nil
}

// decode stores v in the value that to points to. A number in an interface becomes a json.Number.
func decode(v hujson.Value, to any) error {
	v = v.Clone()
	v.Standardize()
	decoder := json.NewDecoder(bytes.NewReader(v.Pack()))
	decoder.UseNumber()
	if decoder.Decode(to) == nil {
		return nil
	}
	return wording.JSON(v.Pack(), "the entry", to)
}
