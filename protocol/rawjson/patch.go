package rawjson

import "bytes"

// Patch describes the wanted state of one member of an object.
type Patch struct {
	Name string // the key
	Key  []byte // `"key":`, and any other text before the value
	Have Span   // the existing value; also absent if it is null
	Want []byte // the wanted raw value; nil removes the member
	Tail []byte // text after the value
}

// PatchObject appends the edits that apply the patches: existing values are replaced in place, and new members are
// inserted at the beginning of the object. Members whose keys are in drop are removed as well. tidy means that no key
// of the patches occurs with the value null or in another spelling. known holds the spans of up to two values, which
// are skipped without reading. empty reports whether the edits leave the object without members.
//
// Other edits in the same AppendEdited call may change the values of members but must not insert or delete members.
func PatchObject(edits []Edit, raw []byte, object Span, known [2]Span, tidy bool, patches []Patch, drop ...string) (_ []Edit, empty bool) {
	missing, removed := false, len(drop) > 0
	for i := range patches {
		w := &patches[i]
		switch {
		case w.Have.Present() && w.Want == nil:
			removed = true
		case w.Have.Present():
			if !bytes.Equal(w.Have.Of(raw), w.Want) {
				edits = append(edits, Edit{w.Have, w.Want})
			}
		case w.Want != nil:
			missing = true
		}
	}
	if !missing && !removed && (tidy || len(patches) == 0) {
		return edits, false
	}
	more := false
	if tidy && !removed {
		i := SkipSpace(raw, int(object.Off)+1)
		more = i < len(raw) && raw[i] == '"'
	} else {
		edits, more = DropMembers(edits, raw, object, known, func(key []byte) bool {
			for i := range patches {
				if w := &patches[i]; (w.Want == nil || !w.Have.Present()) && MayBeKey(key, w.Name) {
					return true
				}
			}
			for _, name := range drop {
				if MayBeKey(key, name) {
					return true
				}
			}
			return false
		})
	}
	if missing {
		edits = InsertPatches(edits, object.Off+1, patches, more)
	}
	return edits, !missing && !more
}

var comma = []byte(",")

// InsertPatches appends the edits that insert the missing members at off. more must be true if other members follow.
func InsertPatches(edits []Edit, off uint32, patches []Patch, more bool) []Edit {
	first := true
	for i := range patches {
		w := &patches[i]
		if w.Want == nil || w.Have.Present() {
			continue
		}
		if !first {
			edits = append(edits, Insert(off, comma))
		}
		first = false
		edits = append(edits, Insert(off, w.Key), Insert(off, w.Want))
		if w.Tail != nil {
			edits = append(edits, Insert(off, w.Tail))
		}
	}
	if more && !first {
		edits = append(edits, Insert(off, comma))
	}
	return edits
}

// DropMembers appends the edits that delete the members for whose keys (raw strings without their quotes) unwanted returns
// true. kept reports whether some members remain. Each edit covers whole members with their commas, never a value that
// remains. See PatchObject for known.
func DropMembers(edits []Edit, raw []byte, object Span, known [2]Span, unwanted func(key []byte) bool) (_ []Edit, kept bool) {
	run := -1 // offset of the first dropped member while no member has been kept; -1 = none
	last := 0 // end of the previous member
	w := WalkMembers(raw, object)
	w.known = known
	for ; w.Next(); last = int(w.Value.End) {
		switch drop := unwanted(w.Key); {
		case drop && kept:
			edits = append(edits, Edit{Span: Span{uint32(last), w.Value.End}})
		case drop && run < 0:
			run = w.KeyAt
		case !drop && !kept:
			if kept = true; run >= 0 {
				edits = append(edits, Edit{Span: Span{uint32(run), uint32(w.KeyAt)}})
			}
		}
	}
	if !kept && run >= 0 {
		edits = append(edits, Edit{Span: Span{uint32(run), uint32(last)}})
	}
	return edits, kept
}

// MayBeKey reports whether a lenient decoder could match key (a raw string without its quotes) to name, ignoring
// escapes and case.
func MayBeKey(key []byte, name string) bool {
	if string(key) == name {
		return true
	}
	if len(key) < len(name) || len(key) == len(name) && (key[0]|0x20 != name[0]|0x20 || key[len(key)-1]|0x20 != name[len(name)-1]|0x20) {
		return false
	}
	if len(key) > len(name) && bytes.IndexByte(key, '\\') < 0 && IsASCII(key) {
		return false
	}
	var a, b [FoldedLength]byte
	folded := FoldKey(a[:0], key)
	return folded != nil && bytes.Equal(folded, FoldKey(b[:0], []byte(name)))
}

// IsASCII reports whether all bytes are ASCII.
func IsASCII(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}
