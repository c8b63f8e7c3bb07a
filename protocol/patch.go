package protocol

import "bytes"

// memberPatch is what one member of an object is to be.
type memberPatch struct {
	name string // the key
	key  []byte // `"key":`, and whatever more comes before the value
	have Span   // the value that is there; absent also when it is null
	want []byte // the raw value; nil = the member goes
	tail []byte // what comes behind the value
}

// applyPatches appends the edits that carry the patches out: values are replaced where they stand, new members come first in
// the object. Members whose keys are in drop go, too. tidy says that no key of the patches stands there with null or in
// disguise (ResultInfo.Odd); known are values whose end is known, so that they need not be walked.
//
// edits of the members' values may be made besides; but nothing else may insert or delete members of the object. empty: none
// is left.
func applyPatches(edits []Edit, raw []byte, object Span, known [2]Span, tidy bool, patches []memberPatch, drop ...string) (_ []Edit, empty bool) {
	missing, gone := false, len(drop) > 0
	for i := range patches {
		w := &patches[i]
		switch {
		case w.have.Present() && w.want == nil:
			gone = true
		case w.have.Present():
			if !bytes.Equal(w.have.Of(raw), w.want) {
				edits = append(edits, Edit{w.have, w.want})
			}
		case w.want != nil:
			missing = true
		}
	}
	if !missing && !gone && (tidy || len(patches) == 0) {
		return edits, false
	}
	more := false
	if tidy && !gone {
		i := skipSpace(raw, int(object.Off)+1)
		more = i < len(raw) && raw[i] == '"'
	} else {
		edits, more = dropMembers(edits, raw, object, known, func(key []byte) bool {
			for i := range patches {
				if w := &patches[i]; (w.want == nil || !w.have.Present()) && spells(key, w.name) {
					return true
				}
			}
			for _, name := range drop {
				if spells(key, name) {
					return true
				}
			}
			return false
		})
	}
	if missing {
		edits = insertPatches(edits, object.Off+1, patches, more)
	}
	return edits, !missing && !more
}

var comma = []byte(",")

// insertPatches inserts the members that are wanted and missing; more: others follow.
func insertPatches(edits []Edit, off uint32, patches []memberPatch, more bool) []Edit {
	first := true
	for i := range patches {
		w := &patches[i]
		if w.want == nil || w.have.Present() {
			continue
		}
		if !first {
			edits = append(edits, Insert(off, comma))
		}
		first = false
		edits = append(edits, Insert(off, w.key), Insert(off, w.want))
		if w.tail != nil {
			edits = append(edits, Insert(off, w.tail))
		}
	}
	if more && !first {
		edits = append(edits, Insert(off, comma))
	}
	return edits
}

// dropMembers appends the edits that delete the members whose keys, the insides of their raw strings, are gone. kept: some stay.
// Each edit covers whole members and the commas that go with them, never a value that stays.
func dropMembers(edits []Edit, raw []byte, object Span, known [2]Span, gone func(key []byte) bool) (_ []Edit, kept bool) {
	run := -1 // where the members to drop before the first one that stays begin
	last := 0 // end of the member before
	w := walkMembers(raw, object)
	w.known = known
	for ; w.next(); last = int(w.value.End) {
		switch drop := gone(w.key); {
		case drop && kept:
			edits = append(edits, Edit{Span: Span{uint32(last), w.value.End}})
		case drop && run < 0:
			run = w.keyAt
		case !drop && !kept:
			if kept = true; run >= 0 {
				edits = append(edits, Edit{Span: Span{uint32(run), uint32(w.keyAt)}})
			}
		}
	}
	if !kept && run >= 0 {
		edits = append(edits, Edit{Span: Span{uint32(run), uint32(last)}})
	}
	return edits, kept
}

// spells reports whether some decoder could take the inside of a raw string for the key: escapes and case do not matter.
func spells(key []byte, name string) bool {
	if string(key) == name {
		return true
	}
	if len(key) < len(name) || len(key) == len(name) && (key[0]|0x20 != name[0]|0x20 || key[len(key)-1]|0x20 != name[len(name)-1]|0x20) {
		return false
	}
	if len(key) > len(name) && bytes.IndexByte(key, '\\') < 0 && isASCII(key) {
		return false
	}
	var a, b [foldedLength]byte
	folded := foldKey(a[:0], key)
	return folded != nil && bytes.Equal(folded, foldKey(b[:0], []byte(name)))
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}
