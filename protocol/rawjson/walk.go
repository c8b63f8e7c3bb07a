package rawjson

import (
	"bytes"
	"iter"
)

// walker goes through the members of an object or the elements of an array in checked bytes; it checks nothing again.
// On bytes that were not checked it may see nonsense, but it ends and stays inside them.
//
//	for w := walkMembers(raw, object); w.next(); { … w.key, w.value … }
type Walker struct {
	raw    []byte
	at     int // behind what was read
	object bool
	Key    []byte // inside of the key's string, escapes not decoded
	KeyAt  int    // its opening quote
	Value  Span
	known  [2]Span // values whose end is known: large ones are not walked again
}

// walkMembers begins with the object at the span; anything else has no members.
func WalkMembers(raw []byte, object Span) Walker {
	if object.Present() && int(object.End) <= len(raw) && raw[object.Off] == '{' {
		return Walker{raw: raw[:object.End], at: int(object.Off) + 1, object: true}
	}
	return Walker{}
}

// walkElements begins with the array at the span; anything else has no elements.
func WalkElements(raw []byte, list Span) Walker {
	if list.Present() && int(list.End) <= len(raw) && raw[list.Off] == '[' {
		return Walker{raw: raw[:list.End], at: int(list.Off) + 1}
	}
	return Walker{}
}

// next goes on to the next member or element; false when there is none.
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

// isSpace reports whether c is JSON white space. // RFC 8259, section 2
func IsSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// skipSpace returns the offset of the first byte at or after i that is not white space, or len(raw).
func SkipSpace(raw []byte, i int) int {
	for i < len(raw) && IsSpace(raw[i]) {
		i++
	}
	return i
}

// skipString returns the offset behind the string whose opening quote stands at i; at least i+2.
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

// skipValue returns the offset behind the value at i; i when none begins there.
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

// Member returns the value of the object's member with that key, absent when there is none; escapes in keys are decoded.
// Of several with the same key the last counts, as with most decoders. raw is a parsed frame's.
func Member(raw []byte, object Span, key string) Span {
	value, _ := FindMember(raw, object, key)
	return value
}

// findMember returns value and opening quote of the last member with that key.
func FindMember(raw []byte, object Span, key string) (value Span, keyAt int) {
	for w := WalkMembers(raw, object); w.Next(); {
		if KeyIs(w.Key, key) {
			value, keyAt = w.Value, w.KeyAt
		}
	}
	return value, keyAt
}

// sameKey compares the inside of a raw string with decoded text.
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

// Members yields the members of an object, keys with their escapes; none for any other value. raw is checked JSON.
func Members(raw []byte, object Span) iter.Seq2[[]byte, Span] {
	return func(yield func([]byte, Span) bool) {
		for w := WalkMembers(raw, object); w.Next(); {
			if !yield(w.Key, w.Value) {
				return
			}
		}
	}
}

// Elements yields the elements of an array; none for any other value. raw is checked JSON.
func Elements(raw []byte, list Span) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		for w := WalkElements(raw, list); w.Next(); {
			if !yield(w.Value) {
				return
			}
		}
	}
}
