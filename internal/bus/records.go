package bus

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Limits of records.
const (
	MaxRecord    = 96 << 10 // bytes of a value
	MaxKey       = 150      // bytes of a key
	MaxRecordSum = 64 << 20 // bytes of all records
)

// longestRecordCall limits how long a method of Records blocks if its context has no earlier deadline.
const longestRecordCall = 10 * time.Second

// Errors of Records.
var (
	ErrNoRecord = errors.New("the record does not exist")
	ErrChanged  = errors.New("the record has changed")
	ErrNoQuorum = errors.New("the records of the cluster are unavailable: too few of the voters are reachable, or they are choosing a leader")
	ErrFull     = errors.New("the records of the cluster have their maximum size")
	ErrNoVoters = errors.New("the cluster has no voters, so it keeps no records")
)

// Records are small named values that all nodes of a cluster share. A majority of the voters must store a change. A read may
// miss changes of the last seconds if a voter was stopped or cut off from the others, but no write overwrites a change that
// its caller has missed. The methods are safe for concurrent use.
//
// A key consists of words, like the subject of a message, and has at most MaxKey bytes. A method returns an error if its key is
// malformed or its value is too large. All other errors that are not listed are those of ctx.
type Records interface {
	// Get returns a record. The errors are ErrNoRecord, ErrNoVoters, ErrClosed and, also after ctx's deadline, ErrNoQuorum.
	Get(ctx context.Context, key string) (Record, error)

	// Put stores a value if the record still has the given revision, and returns the new one. Revision 0 means that the
	// record must not exist. If that is not the case, the error is ErrChanged. ErrFull says that the voters have no room.
	// The other errors are those of Get. After ErrNoQuorum, ErrClosed or an error of ctx, the value may be stored
	// nevertheless.
	//
	// If the record already has exactly this value, in a later revision, Put returns that revision: the answer to an
	// earlier attempt was lost. Writers that must not mistake each other's values for their own must write different ones.
	Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)

	// Delete removes a record that still has the given revision. The errors are those of Put. Deleting a record that does
	// not exist has no effect.
	Delete(ctx context.Context, key string, revision uint64) error

	// Watch calls handle for each record whose key matches the pattern (see Bus), and then for each change, one at a time.
	// The revisions of a record rise, but some may be left out. Changes may arrive seconds late, after a failure even
	// later. Watching begins as soon as the voters are reachable. For cancel and the errors, see Bus.Subscribe.
	Watch(pattern string, handle func(Record)) (cancel func(), err error)
}

// Record is a record in one revision.
type Record struct {
	Key      string
	Value    []byte // must not be modified
	Revision uint64 // rises with each change of any record
	Deleted  bool   // the record does not exist any longer; only in calls by Watch
}

// CheckKey returns an error if the key is malformed.
func CheckKey(key string) error {
	if len(key) > MaxKey {
		return fmt.Errorf("key of %d bytes; at most %d are allowed", len(key), MaxKey)
	}
	return CheckSubject(key, false)
}

// checkRecord returns an error if the key or the value is not permitted.
func checkRecord(key string, value []byte) error {
	if len(value) > MaxRecord {
		return fmt.Errorf("record %s of %d bytes; at most %d are allowed", key, len(value), MaxRecord)
	}
	return CheckKey(key)
}

// NoRecords returns the records of a cluster without voters. All methods return ErrNoVoters.
func NoRecords() Records { return noRecords{} }

type noRecords struct{}

func (noRecords) Get(context.Context, string) (Record, error) { return Record{}, ErrNoVoters }

func (noRecords) Put(context.Context, string, []byte, uint64) (uint64, error) { return 0, ErrNoVoters }

func (noRecords) Delete(context.Context, string, uint64) error { return ErrNoVoters }

func (noRecords) Watch(string, func(Record)) (func(), error) { return nil, ErrNoVoters }
