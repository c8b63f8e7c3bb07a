package bus

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Timing of watches.
const (
	watchCheck = 2 * time.Second  // between two comparisons of a watch with the stream
	watchRetry = time.Second      // between two attempts to begin
	watchIdle  = 10 * time.Second // the server forgets a watch whose node has been gone for this time
)

// natsWatch is a watch of a natsRecords. The server sends the records and their changes. As it may stop doing so, for
// example because another voter leads the stream, the watch also looks up the newest change itself. If the server has not
// sent that change within watchCheck, the watch begins again.
type natsWatch struct {
	records *natsRecords
	subject string // with wildcards
	handle  func(Record)
	stop    chan struct{} // closed by cancel

	told map[string]told // by key
	pass int             // how often the watch has begun
	seen uint64          // the newest message that was received
}

// told is the newest state of a record that the watch has received. The handler was called with it, unless the record is
// deleted and the handler has never seen it.
type told struct {
	revision uint64
	deleted  bool
	pass     int // the last pass in which the server has sent the record
}

// Watch implements Records.
func (r *natsRecords) Watch(pattern string, handle func(Record)) (func(), error) {
	if err := CheckSubject(pattern, true); err != nil {
		return nil, err
	}
	select {
	case <-r.closed:
		return nil, ErrClosed
	default:
	}
	w := &natsWatch{records: r, subject: r.prefix + pattern, handle: handle, stop: make(chan struct{}), told: map[string]told{}}
	go w.run()
	return func() { w.records.end(w.stop) }, nil
}

// end closes a channel, once.
func (r *natsRecords) end(stop chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-stop:
	default:
		close(stop)
	}
}

// run begins the watch again and again, until it is canceled.
func (w *natsWatch) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		defer cancel()
		select {
		case <-w.stop:
		case <-w.records.closed:
		case <-ctx.Done():
		}
	}()
	for ctx.Err() == nil {
		if err := w.follow(ctx); err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(watchRetry):
			}
		}
	}
}

// follow receives records until the watch lags behind or ctx ends. It returns an error if it could not begin.
func (w *natsWatch) follow(ctx context.Context) error {
	opening, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	stream, err := w.records.open(opening)
	if err != nil {
		return err
	}
	messages := make(chan *nats.Msg, 64)
	inbox := w.records.js.Conn().NewInbox()
	sub, err := w.records.js.Conn().Subscribe(inbox, func(m *nats.Msg) {
		select {
		case messages <- m:
		case <-ctx.Done():
		}
	})
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only if the connection is closed
	consumer, err := stream.CreateOrUpdatePushConsumer(opening, jetstream.ConsumerConfig{
		DeliverSubject: inbox, DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, FilterSubject: w.subject,
		AckPolicy: jetstream.AckNonePolicy, MaxDeliver: 1, MemoryStorage: true, Replicas: 1, InactiveThreshold: watchIdle,
	})
	if err != nil {
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			w.records.forget()
		}
		return err
	}
	defer remove(stream, consumer)
	w.pass++
	w.receive(ctx, stream, messages, consumer.CachedInfo().NumPending)
	return nil
}

// remove tells the server to forget a watch. If that fails, it does so after watchIdle.
func remove(stream jetstream.Stream, consumer jetstream.PushConsumer) {
	ctx, cancel := context.WithTimeout(context.Background(), attemptGap)
	defer cancel()
	_ = stream.DeleteConsumer(ctx, consumer.CachedInfo().Name)
}

// receive handles messages until the watch lags behind or ctx ends. The first ones are the state of all records.
func (w *natsWatch) receive(ctx context.Context, stream jetstream.Stream, messages <-chan *nats.Msg, records uint64) {
	check := time.NewTicker(watchCheck)
	defer check.Stop()
	complete, expected := false, uint64(0) // expected is the newest message at the last check
	for {
		if !complete && records == 0 {
			complete = true
			w.dropMissing(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case m := <-messages:
			pending := w.received(ctx, m)
			if !complete {
				records = pending
			}
		case <-check.C:
			if len(messages) > 0 {
				continue
			}
			newest, err := w.newest(ctx, stream)
			switch {
			case err != nil: // the voters are unreachable
			case w.seen < expected:
				return
			default:
				expected = newest
			}
		}
	}
}

// newest returns the number of the newest message that the watch should receive; 0 = there is none.
func (w *natsWatch) newest(ctx context.Context, stream jetstream.Stream) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	m, err := stream.GetLastMsgForSubject(ctx, w.subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return m.Sequence, nil
}

// received handles a message, and returns how many the server has not sent yet.
func (w *natsWatch) received(ctx context.Context, m *nats.Msg) (pending uint64) {
	meta, err := m.Metadata()
	if err != nil || len(m.Subject) <= len(w.records.prefix) {
		return 0 // not a record
	}
	w.seen = max(w.seen, meta.Sequence.Stream)
	w.tell(ctx, w.records.recordOf(m.Subject, m.Header, m.Data, meta.Sequence.Stream))
	return meta.NumPending
}

// tell calls the handler, unless it knows the record's state.
func (w *natsWatch) tell(ctx context.Context, r Record) {
	known := w.told[r.Key]
	w.told[r.Key] = told{max(r.Revision, known.revision), r.Deleted, w.pass}
	unknown := known.revision == 0 && r.Deleted // the handler has never heard of it
	if r.Revision > known.revision && !unknown && ctx.Err() == nil {
		w.handle(r)
	}
}

// dropMissing tells the handler of records that were deleted so long ago that the server has forgotten the deletion.
func (w *natsWatch) dropMissing(ctx context.Context) {
	for key, t := range w.told {
		if t.pass == w.pass {
			continue
		}
		if !t.deleted {
			w.tell(ctx, Record{Key: key, Revision: t.revision + 1, Deleted: true})
		}
		delete(w.told, key)
	}
}
