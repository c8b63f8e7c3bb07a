package node

import (
	"context"
	"errors"
	"fmt"

	"goblin-actor/actors"
	"goblin-actor/internal/bus"
)

// loginRecords are the records of the cluster, as the gateway keeps logins in them. They implement actors.LoginRecords.
type loginRecords struct{ records bus.Records }

// Get implements actors.LoginRecords.
func (l loginRecords) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	r, err := l.records.Get(ctx, key)
	if errors.Is(err, bus.ErrNoRecord) {
		return nil, 0, nil
	}
	return r.Value, r.Revision, missing(err)
}

// Put implements actors.LoginRecords.
func (l loginRecords) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	revision, err := l.records.Put(ctx, key, value, revision)
	if errors.Is(err, bus.ErrChanged) {
		err = actors.ErrRecordChanged
	}
	return revision, missing(err)
}

// Delete implements actors.LoginRecords.
func (l loginRecords) Delete(ctx context.Context, key string, revision uint64) error {
	return l.records.Delete(ctx, key, revision)
}

// Watch implements actors.LoginRecords.
func (l loginRecords) Watch(prefix string, handle func(key string, value []byte, revision uint64, deleted bool)) (func(), error) {
	return l.records.Watch(prefix+".>", func(r bus.Record) { handle(r.Key, r.Value, r.Revision, r.Deleted) })
}

// missing returns err, or a shorter error that says what is missing if too few voters are reachable.
func missing(err error) error {
	if errors.Is(err, bus.ErrNoQuorum) {
		return errTooFewVoters
	}
	return err
}

var errTooFewVoters = fmt.Errorf("%w; start more than half of the nodes in cluster.voters", bus.ErrNoQuorum)
