package protocol

import (
	"bytes"

	"goblin-actor/protocol/rawjson"
)

// field is a known key as a number; 0 is an unknown key.
type field uint8

// keyTable holds the known keys of one kind of object.
type keyTable struct {
	names  []string           // by field
	find   func([]byte) field // returns the field of a key without escapes
	folded map[string]field   // by key in lower case: the field that a lenient decoder might match
}

func newKeys(find func([]byte) field, names ...string) *keyTable {
	t := &keyTable{names: append([]string{""}, names...), find: find, folded: make(map[string]field, len(names))}
	for i, name := range names {
		t.folded[string(rawjson.FoldKey(make([]byte, 0, rawjson.FoldedLength), []byte(name)))] = field(i + 1)
	}
	return t
}

// keysSeen holds the keys found so far in an object.
type keysSeen struct {
	fields uint64 // bit per field
	odd    bool   // a key differs from a known key in case
	twice  bool   // the last key repeats an earlier one in some spelling, so decoders would disagree
}

// note records a key (a raw string without its quotes) and returns its field. It returns 0 if the key is unknown or differs
// from a known key in case.
func (t *keyTable) note(s *keysSeen, key []byte) field {
	f := t.find(key)
	spelled := f
	if f == 0 {
		if f, spelled = t.unusual(key); f == 0 {
			return 0
		}
		s.odd = s.odd || spelled == 0
	}
	bit := uint64(1) << f
	if s.fields&bit != 0 {
		s.twice = true
	}
	s.fields |= bit
	return spelled
}

// unusual returns the field of a key that is escaped or in another case. spelled is the same field if the key differs only
// by escapes, and 0 if its case differs.
func (t *keyTable) unusual(key []byte) (f, spelled field) {
	var buffer [rawjson.FoldedLength]byte
	f = t.folded[string(rawjson.FoldKey(buffer[:0], key))]
	if f != 0 && bytes.IndexByte(key, '\\') >= 0 && rawjson.KeyIs(key, t.names[f]) {
		spelled = f
	}
	return f, spelled
}
