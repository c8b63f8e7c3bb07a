package protocol

import (
	"bytes"

	"goblin-actor/protocol/rawjson"
)

// field is a key we route on as a number; 0 is none.
type field uint8

// keyTable knows the keys we route on in one kind of object.
type keyTable struct {
	names  []string           // by field
	find   func([]byte) field // the field of a key that is spelled plainly
	folded map[string]field   // the field a careless decoder could take a key for, by the key in lower case
}

func newKeys(find func([]byte) field, names ...string) *keyTable {
	t := &keyTable{names: append([]string{""}, names...), find: find, folded: make(map[string]field, len(names))}
	for i, name := range names {
		t.folded[string(rawjson.FoldKey(make([]byte, 0, rawjson.FoldedLength), []byte(name)))] = field(i + 1)
	}
	return t
}

// keysSeen is what a scan of one object has seen.
type keysSeen struct {
	fields uint64 // bit per field
	odd    bool   // a key is spelled in another case than ours
	twice  bool   // this key is a second spelling of one seen before: no two decoders would agree
}

// note returns the field of a key, the inside of a raw string, 0 when it is none of ours.
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

// unusual finds the field of a key that is not spelled plainly. spelled is the same field when only escapes stand in the way,
// 0 when the case of its letters is wrong.
func (t *keyTable) unusual(key []byte) (f, spelled field) {
	var buffer [rawjson.FoldedLength]byte
	f = t.folded[string(rawjson.FoldKey(buffer[:0], key))]
	if f != 0 && bytes.IndexByte(key, '\\') >= 0 && rawjson.KeyIs(key, t.names[f]) {
		spelled = f
	}
	return f, spelled
}
