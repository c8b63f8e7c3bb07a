package rawjson

import "slices"

// Edit replaces the bytes of Span with With. An empty With deletes them; a Span with Off == End inserts.
type Edit struct {
	Span Span
	With []byte
}

// Insert returns the edit that inserts with before the byte at off.
func Insert(off uint32, with []byte) Edit { return Edit{Span{off, off}, with} }

// AppendEdited appends raw with the edits applied. All bytes outside their spans stay as they are. Edits may be in any order;
// AppendEdited sorts them in place. They must not overlap. Insertions at the same offset keep their order.
// It allocates once if dst lacks capacity, otherwise not at all.
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

// Pieces returns the result of AppendEdited as a list of slices of raw and of the edits, so that a large text need not be
// copied. Pieces sorts the edits in place. They must not overlap.
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

// Grow returns dst with capacity for n more bytes. It allocates at most once; slices.Grow allocates twice under the
// race detector.
func Grow(dst []byte, n int) []byte {
	if cap(dst)-len(dst) >= n {
		return dst
	}
	grown := make([]byte, len(dst), len(dst)+n)
	copy(grown, dst)
	return grown
}

// sortEdits sorts by insertion: there are few edits, mostly in order, and nothing escapes to the heap.
func sortEdits(edits []Edit) {
	for i := 1; i < len(edits); i++ {
		for j := i; j > 0 && before(edits[j].Span, edits[j-1].Span); j-- {
			edits[j], edits[j-1] = edits[j-1], edits[j]
		}
	}
}

func before(a, b Span) bool { return a.Off < b.Off || a.Off == b.Off && a.End < b.End }

// InsertMember returns the edit that inserts member, `"key":value` or several separated by commas, as the object's first
// member. Use it at most once for each object in one call of AppendEdited. Use EditObject to delete members as well.
func InsertMember(raw []byte, object Span, member []byte) Edit {
	w := WalkMembers(raw, object)
	return insertMembers(object, w.Next(), member)
}

// insertMembers returns the insertion at the beginning of the object. more must be true if other members follow.
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

// MemberSpan returns the span to delete in order to remove a member, including one comma, or an absent span if there is no
// such member. For a repeated key it is the last.
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

// DeleteMember returns the edit that deletes a member, and whether the member exists. Use EditObject to delete several
// members of one object.
func DeleteMember(raw []byte, object Span, key string) (Edit, bool) {
	span := MemberSpan(raw, object, key)
	return Edit{Span: span}, span.Present()
}

// EditObject appends the edits that delete all members of the object whose keys are in drop, and insert members, each
// `"key":value`, at its beginning. The edits also add and delete commas as needed.
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

// AppendOneLine appends raw with newlines replaced by spaces. Valid JSON has newlines only between tokens.
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
