package bus

import (
	"bytes"
	"slices"
	"strings"
)

// Ledger holds records in memory. Its methods are those of Records, without contexts; revisions begin at 1. It is for the
// engines that have no voters, and not safe for concurrent use. The zero value is empty.
type Ledger struct {
	records  map[string]Record // deleted ones are missing
	revision uint64
	bytes    int
}

// Get returns a record, or ErrNoRecord.
func (l *Ledger) Get(key string) (Record, error) {
	r, ok := l.records[key]
	if !ok {
		return Record{}, ErrNoRecord
	}
	return r, nil
}

// Put is Records.Put. The ledger owns the value from now on.
func (l *Ledger) Put(key string, value []byte, revision uint64) (uint64, error) {
	if err := checkRecord(key, value); err != nil {
		return 0, err
	}
	last := l.records[key]
	if last.Revision != revision {
		if last.Revision > revision && bytes.Equal(last.Value, value) {
			return last.Revision, nil
		}
		return 0, ErrChanged
	}
	if l.bytes+len(value)-len(last.Value) > MaxRecordSum {
		return 0, ErrFull
	}
	if l.records == nil {
		l.records = map[string]Record{}
	}
	l.bytes += len(value) - len(last.Value)
	l.revision++
	l.records[key] = Record{Key: key, Value: value, Revision: l.revision}
	return l.revision, nil
}

// Delete is Records.Delete. It returns the revision of the deletion, or 0 if the record did not exist.
func (l *Ledger) Delete(key string, revision uint64) (uint64, error) {
	last, ok := l.records[key]
	switch {
	case !ok:
		return 0, nil
	case last.Revision != revision:
		return 0, ErrChanged
	}
	delete(l.records, key)
	l.bytes -= len(last.Value)
	l.revision++
	return l.revision, nil
}

// Matching returns the records whose keys match the pattern, sorted by key.
func (l *Ledger) Matching(pattern string) []Record {
	var found []Record
	for key, r := range l.records {
		if Matches(pattern, key) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b Record) int { return strings.Compare(a.Key, b.Key) })
	return found
}
