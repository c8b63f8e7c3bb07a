package admin

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"

	"goblin-actor/internal/decode"
	"goblin-actor/internal/status"
)

// Follow implements status.Source.
func (r *remote) Follow(ctx context.Context, o status.FollowOptions, tell func(status.Notice) error) error {
	f := &following{tell: tell, once: o.Once}
	f.reader = reader{path: r.path, query: queryOf(o), last: o.Last, event: f.event, lost: f.lost}
	err := f.reader.run(ctx)
	if errors.Is(err, errOnce) {
		return nil
	}
	return err
}

// errOnce ends a stream with FollowOptions.Once.
var errOnce = errors.New("the stream is complete")

// queryOf returns the query of /eventz for the options.
func queryOf(o status.FollowOptions) string {
	wants := make([]string, 0, len(o.Want)+1)
	for _, want := range o.Want {
		wants = append(wants, string(want))
	}
	if len(wants) == 1 {
		wants = append(wants, wants[0]) // log or catalog alone selects a stream of another form
	}
	q := url.Values{"want": {strings.Join(wants, ",")}}
	if o.Server != "" {
		q.Set("server", o.Server)
	}
	if o.Every > 0 {
		q.Set("every", o.Every.String())
	}
	if o.New {
		q.Set("after", "now")
	}
	if o.Once {
		q.Set("once", "")
	}
	return q.Encode()
}

// following turns the events of a stream into Notices.
type following struct {
	reader   reader
	tell     func(status.Notice) error
	once     bool
	boot     string
	away     bool             // Lost was reported, Back was not yet
	snapshot *status.Snapshot // the newest; nil = no picture since the last hello
}

func (f *following) lost(err error) error {
	if f.once && errors.Is(err, io.EOF) {
		return errOnce
	}
	if f.away {
		return nil
	}
	f.away = true
	return f.tell(status.Notice{Lost: err})
}

// event reports an event of the stream. It ignores unknown events, which newer gateways may send.
func (f *following) event(name, id, data string) error {
	n := status.Notice{ID: id}
	var err error
	switch name {
	case eventHello:
		n.Hello = new(status.Hello)
		err = decode.JSON([]byte(data), "an event", n.Hello)
		n.Back, n.Restarted = f.away, f.boot != "" && f.boot != n.Hello.Boot
		f.away, f.boot, f.snapshot = false, n.Hello.Boot, nil
	case eventPicture:
		n.Snapshot = new(status.Snapshot)
		err = decode.JSON([]byte(data), "an event", n.Snapshot)
		f.snapshot = n.Snapshot
	case eventDelta:
		n.Delta = new(status.Delta)
		if err = decode.JSON([]byte(data), "an event", n.Delta); err == nil && f.snapshot == nil {
			err = errors.New("a delta came before its picture")
		}
		if err == nil {
			f.snapshot = n.Delta.Apply(f.snapshot)
			n.Snapshot = f.snapshot
		}
	case eventFinished:
		n.Finished, n.Missed, err = listOf[status.FinishedCall](data)
	case eventLog:
		n.Log, n.Missed, err = listOf[status.Event](data)
	case eventLines:
		n.Lines, n.Missed, err = listOf[status.Event](data)
	case eventCatalog:
		n.Catalog, n.Missed, err = listOf[status.CatalogChange](data)
	case eventSecond:
		n.Series, _, err = listOf[status.Series](data)
	case eventFault:
		var fault streamFault
		if err = decode.JSON([]byte(data), "an event", &fault); err == nil {
			return asCallbackError(f.lost(errors.New(fault.Error)))
		}
	default:
		return nil
	}
	if err != nil {
		return err
	}
	return asCallbackError(f.tell(n))
}

// listOf returns the entries in the data of an event.
func listOf[T any](data string) ([]T, uint64, error) {
	var e entries[T]
	err := decode.JSON([]byte(data), "an event", &e)
	return e.List, e.Missed, err
}
