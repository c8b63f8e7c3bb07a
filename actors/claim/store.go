package claim

import (
	"context"
	"errors"
)

// ErrChanged is returned by Store.Put if the record has another revision.
var ErrChanged = errors.New("the record has changed")

// Stored is a record in one revision.
type Stored struct {
	Record
	Revision uint64 // rises with each change; 0 = the record does not exist
	Order    uint64 // for a record that was deleted, the revision of the deletion; else 0 or Revision
	Invalid  error  // why the record cannot be used, for example because it was sealed with an unknown secret; nil if it can
}

// Store holds one record, which all nodes share. Its methods are safe for concurrent use.
type Store interface {
	// Get returns the record. It may be older than one that Watch has reported. It blocks for at most 10 s.
	Get(ctx context.Context) (Stored, error)

	// Put replaces the record if it still has the given revision (0 = it does not exist), and returns the new revision.
	// Otherwise, the error is ErrChanged. After another error the record may have been replaced. Put blocks for at most 10 s.
	Put(ctx context.Context, r Record, revision uint64) (uint64, error)

	// Watch calls handle with each change from now on, one at a time, until cancel is called. handle must not block. Changes
	// may be late, and all but the newest one may be left out.
	Watch(handle func(Stored)) (cancel func())
}
