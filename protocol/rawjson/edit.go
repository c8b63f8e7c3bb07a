package rawjson

import "slices"

// Edit replaces the bytes of a span: With nil deletes them, an empty span inserts at its Off.
type Edit struct {
	Span Span
	With []byte
}

// Insert puts with in front of the byte at off.
func Insert(off uint32, with []byte) Edit { return Edit{Span{off, off}, with} }

// AppendEdited appends raw with the edits made; every byte outside their spans stays as it is. Edits may come in any order (they are
// put in order in place) and must not overlap; of several insertions at one place the first given comes first.
// With enough room in dst it does not allocate, else once.
func AppendEdited(dst, raw []byte, edits ...Edit) []byte {
	sortEdits(edits)
	size := len(raw)
	for _, e := range edits {
		size += len(e.With)
	}
	dst = Grow(dst, size)
	at := 0
	for _, e := range edits {
		if off := int(e.Span.Off); off > at {
			dst = append(dst, raw[at:off]...)
		}
		dst = append(dst, e.With...)
		at = max(at, int(e.Span.End), int(e.Span.Off))
	}
	return append(dst, raw[at:]...)
}

// Pieces returns what AppendEdited would make as slices of raw and of the edits, to be written one after the other: a
// large frame is not copied for the sake of its id. Edits are put in order in place and must not overlap.
func Pieces(raw []byte, edits ...Edit) [][]byte {
	sortEdits(edits)
	pieces := make([][]byte, 0, 2*len(edits)+1)
	add := func(piece []byte) {
		if len(piece) > 0 {
			pieces = append(pieces, piece)
		}
	}
	at := 0
	for _, e := range edits {
		if off := int(e.Span.Off); off > at {
			add(raw[at:off])
		}
		add(e.With)
		at = max(at, int(e.Span.End), int(e.Span.Off))
	}
	add(raw[at:])
	return pieces
}

// grow returns dst with room for n more bytes; it allocates once, or not at all. (slices.Grow allocates twice under the race detector.)
func Grow(dst []byte, n int) []byte {
	if cap(dst)-len(dst) >= n {
		return dst
	}
	grown := make([]byte, len(dst), len(dst)+n)
	copy(grown, dst)
	return grown
}

// sortEdits is an insertion sort: edits are few or already in order, and nothing escapes to the heap.
func sortEdits(edits []Edit) {
	for i := 1; i < len(edits); i++ {
		for j := i; j > 0 && before(edits[j].Span, edits[j-1].Span); j-- {
			edits[j], edits[j-1] = edits[j-1], edits[j]
		}
	}
}

func before(a, b Span) bool { return a.Off < b.Off || a.Off == b.Off && a.End < b.End }

// InsertMember puts member, `"key":value` or several with commas between, first into the object. Once for each object in
// one AppendEdited; together with deletions use EditObject.
func InsertMember(raw []byte, object Span, member []byte) Edit {
	w := WalkMembers(raw, object)
	return insertMembers(object, w.Next(), member)
}

// insertMembers makes the insertion at the beginning of the object; more: members follow.
func insertMembers(object Span, more bool, members ...[]byte) Edit {
	if len(members) == 1 && !more {
		return Insert(object.Off+1, members[0])
	}
	size := 0
	for _, m := range members {
		size += len(m) + 1
	}
	with := make([]byte, 0, size)
	for i, m := range members {
		with = append(with, m...)
		if more || i < len(members)-1 {
			with = append(with, ',')
		}
	}
	return Insert(object.Off+1, with)
}

// MemberSpan returns the span that must go for the member to be gone, one comma included; absent when there is no such member.
// Of several with the same key it is the last.
func MemberSpan(raw []byte, object Span, key string) Span {
	value, keyAt := FindMember(raw, object, key)
	if !value.Present() {
		return Span{}
	}
	return memberSpan(raw, object, keyAt, int(value.End))
}

func memberSpan(raw []byte, object Span, keyAt, end int) Span {
	if next := SkipSpace(raw, end); next < len(raw) && raw[next] == ',' {
		return Span{uint32(keyAt), uint32(SkipSpace(raw, next+1))}
	}
	for i := keyAt - 1; i > int(object.Off); i-- {
		if raw[i] == ',' {
			return Span{uint32(i), uint32(end)}
		}
	}
	return Span{uint32(keyAt), uint32(end)}
}

// DeleteMember deletes one member of the object; false when there is none with that key. For several of one object use EditObject.
func DeleteMember(raw []byte, object Span, key string) (Edit, bool) {
	span := MemberSpan(raw, object, key)
	return Edit{Span: span}, span.Present()
}

// EditObject appends the edits that delete all members of the object whose keys are in drop and put members, each `"key":value`,
// first into it, with the right commas whatever remains.
func EditObject(edits []Edit, raw []byte, object Span, drop []string, members ...[]byte) []Edit {
	first := len(edits)
	edits, kept := DropMembers(edits, raw, object, [2]Span{}, func(key []byte) bool {
		return slices.ContainsFunc(drop, func(name string) bool { return KeyIs(key, name) })
	})
	if len(members) > 0 {
		edits = slices.Insert(edits, first, insertMembers(object, kept, members...))
	}
	return edits
}

// AppendOneLine appends checked JSON and writes each newline as a space. Valid JSON has newlines between tokens only.
func AppendOneLine(dst, raw []byte) []byte {
	at := len(dst)
	dst = append(dst, raw...)
	line := dst[at:]
	for i, c := range line {
		if c == '\n' || c == '\r' {
			line[i] = ' '
		}
	}
	return dst
}
