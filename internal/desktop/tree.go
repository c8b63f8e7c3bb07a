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

// Caps, all checked before the parser sees a byte; a value costs it about 120 bytes.
const (
	MaxFileBytes = 16 << 20 // of a client's file
	maxDepth     = 500
	maxMarks     = 1 << 20 // commas, colons and brackets
)

// ErrByHand is behind the error for a file whose meaning is not certain enough to change it.
var ErrByHand = errors.New("it has to be changed by hand")

// SyntaxError is where a file stops being JSON. It quotes nothing of it.
type SyntaxError struct {
	Line, Column int // from 1; 0 = the file as a whole
	Message      string
}

func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return "this is no JSON: " + e.Message
	}
	return fmt.Sprintf("this is no JSON: line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// parse reads text as JSON with comments and trailing commas. A blank text is an empty object. The root is an object.
func parse(text string) (hujson.Value, error) {
	if err := measure(text); err != nil {
		return hujson.Value{}, err
	}
	root, err := hujson.Parse([]byte(text + "\n")) // a comment at the end needs its line feed
	if err != nil {
		e := &SyntaxError{Message: "it ends too early or holds what it should not"}
		rest, _ := strings.CutPrefix(err.Error(), "hujson: ")
		if n, _ := fmt.Sscanf(rest, "line %d, column %d:", &e.Line, &e.Column); n == 2 {
			_, e.Message, _ = strings.Cut(rest, ": ")
		}
		if strings.HasPrefix(e.Message, "invalid literal") { // the literal follows, and may be a secret
			e.Message = "invalid literal"
		}
		return root, e
	}
	if _, ok := root.Value.(*hujson.Object); !ok {
		return root, &SyntaxError{Message: "it holds no object"}
	}
	return root, nil
}

// orEmpty is text, or an empty object where a program has left its file blank.
func orEmpty(text string) string {
	if strings.TrimSpace(text) == "" {
		return "{}\n"
	}
	return text
}

// measure refuses what would cost the parser much. It knows texts and comments just as the parser does, so that no
// bracket escapes it: the parser calls itself for each.
func measure(text string) error {
	if len(text) > MaxFileBytes {
		return &SyntaxError{Message: fmt.Sprintf("more than %d MiB", MaxFileBytes>>20)}
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
			return &SyntaxError{Message: "more brackets or values than a list of servers has"}
		}
	}
	return nil
}

// textEnd is the offset of the quote that closes the one at i, or the end of s.
func textEnd(s string, i int) int {
	for i++; i < len(s) && s[i] != '"'; i++ {
		if s[i] == '\\' {
			i++
		}
	}
	return i
}

// commentEnd is the offset of the last character of the comment at i; i itself where there is none, and the end of s
// for one that is not closed.
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

// member finds a key of an object. A key that stands twice is an error: programs differ in which one counts.
func member(v hujson.Value, key string) (*hujson.ObjectMember, error) {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("what holds %q is no object: %w", key, ErrByHand)
	}
	var found *hujson.ObjectMember
	for i := range object.Members {
		if name, _ := object.Members[i].Name.Value.(hujson.Literal); name.String() != key {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%q stands there twice: %w", key, ErrByHand)
		}
		found = &object.Members[i]
	}
	return found, nil
}

// decode decodes a value into to. A number in an interface is a json.Number.
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
