package rawjson

import (
	"bytes"
	"iter"
)

// Walker iterates over the members of an object or the elements of an array, without allocation. It does not validate
// the text.
//
//	for w := rawjson.WalkMembers(raw, object); w.Next(); { … w.Key, w.Value … }
type Walker struct {
	raw    []byte
	at     int // offset after what was read
	object bool
	Key    []byte // the key without its quotes, escapes not decoded
	KeyAt  int    // offset of the key's opening quote
	Value  Span
	known  [2]Span // values whose end is known; Next skips them without reading
}

// WalkMembers iterates over the object at the span. Other values have no members.
func WalkMembers(raw []byte, object Span) Walker {
	if object.Present() && int(object.End) <= len(raw) && raw[object.Off] == '{' {
		return Walker{raw: raw[:object.End], at: int(object.Off) + 1, object: true}
	}
	return Walker{}
}

// WalkElements iterates over the array at the span. Other values have no elements.
func WalkElements(raw []byte, list Span) Walker {
	if list.Present() && int(list.End) <= len(raw) && raw[list.Off] == '[' {
		return Walker{raw: raw[:list.End], at: int(list.Off) + 1}
	}
	return Walker{}
}

// Next advances to the next member or element and reports whether there is one.
func (w *Walker) Next() bool {
	raw := w.raw
	i := SkipSpace(raw, w.at)
	if i < len(raw) && raw[i] == ',' {
		i = SkipSpace(raw, i+1)
	}
	if w.object {
		if i >= len(raw) || raw[i] != '"' {
			return false
		}
		end := SkipString(raw, i)
		w.KeyAt, w.Key = i, raw[i+1:end-1]
		if i = SkipSpace(raw, end); i < len(raw) && raw[i] == ':' {
			i = SkipSpace(raw, i+1)
		}
	}
	var end int
	switch uint32(i) {
	case w.known[0].Off:
		end = int(w.known[0].End)
	case w.known[1].Off:
		end = int(w.known[1].End)
	default:
		end = SkipValue(raw, i)
	}
	if end <= i {
		return false
	}
	w.Value, w.at = Span{uint32(i), uint32(end)}, end
	return true
}

// IsSpace reports whether c is JSON white space (RFC 8259, section 2).
func IsSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// SkipSpace returns the offset of the first byte at or after i that is not white space, or len(raw).
func SkipSpace(raw []byte, i int) int {
	for i < len(raw) && IsSpace(raw[i]) {
		i++
	}
	return i
}

// SkipString returns the offset after the string whose opening quote is at i, or len(raw) if the string is unterminated.
// The result is at least i+2, so it exceeds len(raw) if the quote is the last byte.
func SkipString(raw []byte, i int) int {
	from := i + 1
	for end := min(i+24, len(raw)); from < end; from++ { // keys and names are short
		if c := raw[from]; c == '"' {
			return from + 1
		} else if c == '\\' {
			break
		}
	}
	for j := from; j < len(raw); {
		n := bytes.IndexByte(raw[j:], '"')
		if n < 0 {
			break
		}
		j += n + 1
		slashes := j - 1
		for slashes > from && raw[slashes-1] == '\\' {
			slashes--
		}
		if (j-1-slashes)%2 == 0 {
			return j
		}
	}
	return max(len(raw), i+2)
}

// SkipValue returns the offset after the value at i, or i if there is no value.
func SkipValue(raw []byte, i int) int {
	if i >= len(raw) {
		return i
	}
	switch raw[i] {
	case '"':
		return min(SkipString(raw, i), len(raw))
	case '{', '[':
		return skipNested(raw, i)
	}
	for i < len(raw) {
		switch raw[i] {
		case ',', '}', ']', ' ', '\n', '\r', '\t':
			return i
		}
		i++
	}
	return i
}

func skipNested(raw []byte, i int) int {
	for depth := 0; i < len(raw); {
		switch raw[i] {
		case '"':
			i = SkipString(raw, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return len(raw)
}

// Member returns the span of the object's member with the given key, or an absent span. Escapes in keys are decoded. For a
// repeated key the last member counts, as with most decoders.
func Member(raw []byte, object Span, key string) Span {
	value, _ := FindMember(raw, object, key)
	return value
}

// FindMember returns the value and the offset of the key's opening quote of the last member with the key.
func FindMember(raw []byte, object Span, key string) (value Span, keyAt int) {
	for w := WalkMembers(raw, object); w.Next(); {
		if KeyIs(w.Key, key) {
			value, keyAt = w.Value, w.KeyAt
		}
	}
	return value, keyAt
}

// KeyIs reports whether a key (a raw string without its quotes) equals key after decoding escapes.
func KeyIs(raw []byte, key string) bool {
	if string(raw) == key {
		return true
	}
	if len(raw) <= len(key) || bytes.IndexByte(raw, '\\') < 0 || len(raw) > 6*len(key) {
		return false
	}
	decoded, ok := AppendUnescaped(make([]byte, 0, len(key)), raw)
	return ok && string(decoded) == key
}

// Members yields the keys, with their escapes, and the values of an object. Other values yield nothing.
func Members(raw []byte, object Span) iter.Seq2[[]byte, Span] {
	return func(yield func([]byte, Span) bool) {
		for w := WalkMembers(raw, object); w.Next(); {
			if !yield(w.Key, w.Value) {
				return
			}
		}
	}
}

// Elements yields the elements of an array. Other values yield nothing.
func Elements(raw []byte, list Span) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		for w := WalkElements(raw, list); w.Next(); {
			if !yield(w.Value) {
				return
			}
		}
	}
}
