package protocol

import (
	"bytes"
	"iter"
)

// walker goes through the members of an object or the elements of an array in checked bytes; it checks nothing again.
// On bytes that were not checked it may see nonsense, but it ends and stays inside them.
//
//	for w := walkMembers(raw, object); w.next(); { … w.key, w.value … }
type walker struct {
	raw    []byte
	at     int // behind what was read
	object bool
	key    []byte // inside of the key's string, escapes not decoded
	keyAt  int    // its opening quote
	value  Span
	known  [2]Span // values whose end is known: large ones are not walked again
}

// walkMembers begins with the object at the span; anything else has no members.
func walkMembers(raw []byte, object Span) walker {
	if object.Present() && int(object.End) <= len(raw) && raw[object.Off] == '{' {
		return walker{raw: raw[:object.End], at: int(object.Off) + 1, object: true}
	}
	return walker{}
}

// walkElements begins with the array at the span; anything else has no elements.
func walkElements(raw []byte, list Span) walker {
	if list.Present() && int(list.End) <= len(raw) && raw[list.Off] == '[' {
		return walker{raw: raw[:list.End], at: int(list.Off) + 1}
	}
	return walker{}
}

// next goes on to the next member or element; false when there is none.
func (w *walker) next() bool {
	raw := w.raw
	i := skipSpace(raw, w.at)
	if i < len(raw) && raw[i] == ',' {
		i = skipSpace(raw, i+1)
	}
	if w.object {
		if i >= len(raw) || raw[i] != '"' {
			return false
		}
		end := skipString(raw, i)
		w.keyAt, w.key = i, raw[i+1:end-1]
		if i = skipSpace(raw, end); i < len(raw) && raw[i] == ':' {
			i = skipSpace(raw, i+1)
		}
	}
	var end int
	switch uint32(i) {
	case w.known[0].Off:
		end = int(w.known[0].End)
	case w.known[1].Off:
		end = int(w.known[1].End)
	default:
		end = skipValue(raw, i)
	}
	if end <= i {
		return false
	}
	w.value, w.at = Span{uint32(i), uint32(end)}, end
	return true
}

func skipSpace(raw []byte, i int) int {
	for i < len(raw) && isSpace(raw[i]) {
		i++
	}
	return i
}

// skipString returns the offset behind the string whose opening quote stands at i; at least i+2.
func skipString(raw []byte, i int) int {
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
func skipValue(raw []byte, i int) int {
	if i >= len(raw) {
		return i
	}
	switch raw[i] {
	case '"':
		return min(skipString(raw, i), len(raw))
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
			i = skipString(raw, i)
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
	value, _ := findMember(raw, object, key)
	return value
}

// findMember returns value and opening quote of the last member with that key.
func findMember(raw []byte, object Span, key string) (value Span, keyAt int) {
	for w := walkMembers(raw, object); w.next(); {
		if sameKey(w.key, key) {
			value, keyAt = w.value, w.keyAt
		}
	}
	return value, keyAt
}

// sameKey compares the inside of a raw string with decoded text.
func sameKey(raw []byte, key string) bool {
	if string(raw) == key {
		return true
	}
	if len(raw) <= len(key) || bytes.IndexByte(raw, '\\') < 0 || len(raw) > 6*len(key) {
		return false
	}
	decoded, ok := appendUnescaped(make([]byte, 0, len(key)), raw)
	return ok && string(decoded) == key
}

// Members yields the members of an object, keys with their escapes; none for any other value. raw is checked JSON.
func Members(raw []byte, object Span) iter.Seq2[[]byte, Span] {
	return func(yield func([]byte, Span) bool) {
		for w := walkMembers(raw, object); w.next(); {
			if !yield(w.key, w.value) {
				return
			}
		}
	}
}

// Elements yields the elements of an array; none for any other value. raw is checked JSON.
func Elements(raw []byte, list Span) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		for w := walkElements(raw, list); w.next(); {
			if !yield(w.value) {
				return
			}
		}
	}
}
