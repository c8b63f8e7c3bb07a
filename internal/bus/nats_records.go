package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Timing of calls to the voters.
const (
	attemptTime = time.Second           // limit of one attempt
	attemptGap  = 50 * time.Millisecond // between two attempts
)

// maxMissed is how often a write is sent again because the record seems to be older than the caller knows.
const maxMissed = 5

// markerTime is how long the voters keep the note that a record was deleted. External servers keep it for good.
const markerTime = 24 * time.Hour

// The note that a record was deleted is a message with this header, as in NATS's key-value stores.
const (
	operationHeader = "KV-Operation"
	deleted         = "DEL"
)

// natsRecords are records in a stream of JetStream, in the form of a key-value store. A record is the last message of its
// subject, and its revision the message's number in the stream.
type natsRecords struct {
	js       jetstream.JetStream
	name     string // of the stream
	prefix   string // of the subjects; the key follows
	mapping  string // in front of a subject to which a record is written, so that it reaches the domain
	replicas int    // 0 = 3 if the server belongs to a NATS cluster, otherwise 1
	markers  bool   // the servers forget the note of a deletion after markerTime; false for external servers
	closed   <-chan struct{}
	failing  atomic.Pointer[time.Time] // since when all calls fail; nil = the last one succeeded

	mu     sync.Mutex
	stream jetstream.Stream // nil = not found or created yet
}

func newNATSRecords(cluster string, conn *nats.Conn, replicas int, domain string, closed <-chan struct{}) (*natsRecords, error) {
	r := &natsRecords{name: "KV_goblin-" + cluster, prefix: "$KV.goblin-" + cluster + ".", replicas: replicas, closed: closed}
	var err error
	if domain == "" {
		r.js, err = jetstream.New(conn)
	} else {
		r.js, err = jetstream.NewWithDomain(conn, domain)
		r.mapping = "$JS." + domain + ".API."
	}
	r.markers = replicas > 0
	return r, err
}

// open returns the stream. It creates the stream if it does not exist.
func (r *natsRecords) open(ctx context.Context) (jetstream.Stream, error) {
	r.mu.Lock()
	s := r.stream
	r.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := r.js.Stream(ctx, r.name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if s, err = r.js.CreateStream(ctx, r.config()); errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			s, err = r.js.Stream(ctx, r.name) // another node has just created it
		}
	}
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stream = s
	return s, nil
}

// config returns the configuration of the stream.
func (r *natsRecords) config() jetstream.StreamConfig {
	c := jetstream.StreamConfig{
		Name: r.name, Description: "records of a goblin-actor cluster", Subjects: []string{r.prefix + ">"},
		Storage: jetstream.FileStorage, Replicas: max(r.replicas, 1), Discard: jetstream.DiscardNew,
		MaxMsgsPerSubject: 1, MaxMsgSize: MaxRecord + 4<<10, MaxBytes: 2 * MaxRecordSum,
		AllowMsgTTL: r.markers,
		// Revisions rise even if the voters lose their disks: they begin at the time in milliseconds.
		FirstSeq: uint64(time.Now().UnixMilli()),
	}
	if r.replicas == 0 && r.js.Conn().ConnectedClusterName() != "" {
		c.Replicas = 3
	}
	return c
}

// call calls do until it succeeds, fails for good or ctx ends. do says whether its error is final.
func (r *natsRecords) call(ctx context.Context, do func(context.Context, jetstream.Stream) (final bool, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, longestRecordCall)
	defer cancel()
	for {
		one, cancel := context.WithTimeout(ctx, attemptTime)
		s, err := r.open(one)
		final := false
		if err == nil {
			final, err = do(one, s)
		}
		cancel()
		if err == nil || final {
			r.failing.Store(nil)
			return err
		}
		now := time.Now()
		r.failing.CompareAndSwap(nil, &now)
		select {
		case <-r.closed:
			return ErrClosed
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return ctx.Err()
			}
			return fmt.Errorf("%w (%w)", ErrNoQuorum, err)
		case <-time.After(attemptGap):
		}
	}
}

// Get implements Records.
func (r *natsRecords) Get(ctx context.Context, key string) (Record, error) {
	if err := CheckKey(key); err != nil {
		return Record{}, err
	}
	var found Record
	err := r.call(ctx, func(ctx context.Context, s jetstream.Stream) (final bool, err error) {
		found, err = r.read(ctx, s, key)
		return false, err
	})
	switch {
	case err != nil:
		return Record{}, err
	case found.Deleted:
		return Record{}, ErrNoRecord
	}
	return found, nil
}

// read reads a record from the leader of the stream. One that does not exist is Deleted; its revision is that of its
// deletion, or 0.
func (r *natsRecords) read(ctx context.Context, s jetstream.Stream, key string) (Record, error) {
	m, err := s.GetLastMsgForSubject(ctx, r.prefix+key)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return Record{Key: key, Deleted: true}, nil
	case errors.Is(err, jetstream.ErrStreamNotFound):
		r.forget()
	}
	if err != nil {
		return Record{}, err
	}
	return r.recordOf(m.Subject, m.Header, m.Data, m.Sequence), nil
}

// forget makes the next call look for the stream again.
func (r *natsRecords) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stream = nil
}

// recordOf returns the record that a message of the stream contains.
func (r *natsRecords) recordOf(subject string, header nats.Header, data []byte, sequence uint64) Record {
	rec := Record{Key: subject[len(r.prefix):], Value: data, Revision: sequence}
	if header.Get(operationHeader) != "" || header.Get(jetstream.MarkerReasonHeader) != "" {
		rec.Value, rec.Deleted = nil, true
	}
	return rec
}

// Put implements Records.
func (r *natsRecords) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if err := checkRecord(key, value); err != nil {
		return 0, err
	}
	w := write{records: r, key: key, value: value, expected: revision, last: revision}
	err := r.call(ctx, w.attempt)
	return w.stored, err
}

// Delete implements Records.
func (r *natsRecords) Delete(ctx context.Context, key string, revision uint64) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	w := write{records: r, key: key, remove: true, expected: revision, last: revision}
	return r.call(ctx, w.attempt)
}

// write is a change of a record. A message whose answer is lost may be stored, so an attempt may find that the record was
// changed by the attempt before it.
type write struct {
	records  *natsRecords
	key      string
	value    []byte
	remove   bool
	expected uint64 // revision that the caller has named
	last     uint64 // number of the last message of the subject; differs from expected if the record was deleted
	unknown  bool   // the result of an earlier attempt is unknown
	missed   int    // reads that may have been answered by a voter that no longer leads
	stored   uint64 // the new revision
}

// attempt sends the change.
func (w *write) attempt(ctx context.Context, s jetstream.Stream) (final bool, err error) {
	m := &nats.Msg{Subject: w.records.mapping + w.records.prefix + w.key, Data: w.value, Header: nats.Header{}}
	options := []jetstream.PublishOpt{jetstream.WithExpectLastSequencePerSubject(w.last), jetstream.WithExpectStream(w.records.name)}
	if w.remove {
		m.Header.Set(operationHeader, deleted)
		if w.records.markers {
			options = append(options, jetstream.WithMsgTTL(markerTime))
		}
	}
	ack, err := w.records.js.PublishMsg(ctx, m, options...)
	api, refused := errors.AsType[*jetstream.APIError](err)
	switch {
	case err == nil:
		w.stored = ack.Sequence
		return true, nil
	case refused && isConflict(api.ErrorCode):
		return w.conflict(ctx, s)
	case refused && strings.Contains(api.Description, "maximum bytes"):
		return true, ErrFull
	case refused && api.ErrorCode == jetstream.JSErrCodeStreamMessageExceedsMaximum:
		return true, ErrTooLarge
	}
	if errors.Is(err, jetstream.ErrNoStreamResponse) {
		w.records.forget()
	}
	w.unknown = w.unknown || !refused
	return false, err
}

func isConflict(code jetstream.ErrorCode) bool {
	return code == jetstream.JSErrCodeStreamWrongLastSequence || code == jetstream.JSErrCodeStreamWrongLastSequenceConstant
}

// conflict finds out why the voters say that the record has another revision.
func (w *write) conflict(ctx context.Context, s jetstream.Stream) (final bool, err error) {
	now, err := w.records.read(ctx, s, w.key)
	switch {
	case err != nil:
		return false, err
	case now.Revision == w.last:
		return false, errInProgress
	case now.Revision < w.last && w.missed < maxMissed: // a voter has answered that does not know yet that it no longer leads, or the note of a deletion was forgotten
		w.missed++
		return false, errInProgress
	case w.remove && now.Deleted:
		return true, nil
	case !w.remove && !now.Deleted && now.Revision > w.expected && bytes.Equal(now.Value, w.value):
		w.stored = now.Revision
		return true, nil
	case !w.remove && now.Deleted && w.expected == 0 && !w.unknown:
		w.last = now.Revision // the record does not exist, but the note of its deletion does
		return false, errInProgress
	}
	return true, ErrChanged
}

// errInProgress is returned for a change that must be sent again, for example because another one is in progress.
var errInProgress = errors.New("the record is being changed")
