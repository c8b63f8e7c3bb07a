package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"goblin-actor/internal/status"
)

// Events of a stream of several wants. The id of each is a status.Cursor. A client that sends it as Last-Event-ID resumes after it.
const (
	eventPicture  = "picture"  // a status.Snapshot
	eventDelta    = "delta"    // a status.Delta: how the state differs from the previous one
	eventFinished = "finished" // entries of status.FinishedCall
	eventLog      = "log"      // entries of status.Event
	eventLines    = "lines"    // entries of status.Event
	eventCatalog  = "catalog"  // entries of status.CatalogChange
	eventSecond   = "second"   // entries of status.Series
	eventFault    = "fault"    // a streamFault: the gateway does not respond; hello and picture follow when it does
)

// writeTime is how long an event may take to be written. A reader that stops for longer is disconnected.
const writeTime = time.Minute

// entries are the data of an event about what has happened.
type entries[T any] struct {
	Missed uint64 `json:"missed,omitempty"` // entries before the first one that are lost
	List   []T    `json:"list"`
}

// streamFault is the data of eventFault.
type streamFault struct {
	Error string `json:"error"`
}

// streamz serves a stream of one or more wants as server-sent events: hello, then entries and, if any part of the state is wanted, a picture
// of the state and its changes. It ends when the client disconnects or does not read for writeTime, or when the socket is closed. With ?once
// it ends after the picture and the stored entries.
func streamz(src status.Source) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		o := status.FollowOptions{Server: query.Get("server"), New: query.Get("after") == "now", Once: query.Has("once"), Last: r.Header.Get("Last-Event-ID")}
		for want := range strings.SplitSeq(query.Get("want"), ",") {
			o.Want = append(o.Want, status.Want(want))
		}
		if every := query.Get("every"); every != "" {
			var err error
			if o.Every, err = time.ParseDuration(every); err != nil {
				http.Error(w, fmt.Sprintf("every=%q is not a duration such as 1s", every), http.StatusBadRequest)
				return
			}
		}
		s := &stream{w: w, control: http.NewResponseController(w)}
		done := make(chan struct{})
		var beats sync.WaitGroup
		beats.Go(func() { s.beat(done) })
		err := src.Follow(r.Context(), o, s.tell)
		close(done)
		beats.Wait()
		switch {
		case s.began:
		case errors.Is(err, status.ErrTooManyStreams):
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}
}

// stream writes events to one client.
type stream struct {
	control *http.ResponseController

	mu    sync.Mutex // held while an event or a beat is written
	w     http.ResponseWriter
	began bool
}

// beat writes a comment on a quiet stream from time to time, which detects disconnected clients.
func (s *stream) beat(done <-chan struct{}) {
	tick := time.NewTicker(eventBeat)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			s.mu.Lock()
			if s.began {
				_ = s.write(": still here\n\n") // tell gets the error, too
			}
			s.mu.Unlock()
		}
	}
}

// tell writes a Notice as an event.
func (s *stream) tell(n status.Notice) error {
	switch {
	case n.Hello != nil:
		return s.event(eventHello, n.ID, n.Hello)
	case n.Delta != nil:
		return s.event(eventDelta, n.ID, n.Delta)
	case n.Snapshot != nil:
		return s.event(eventPicture, n.ID, n.Snapshot)
	case n.Finished != nil:
		return s.event(eventFinished, n.ID, entries[status.FinishedCall]{n.Missed, n.Finished})
	case n.Log != nil:
		return s.event(eventLog, n.ID, entries[status.Event]{n.Missed, n.Log})
	case n.Lines != nil:
		return s.event(eventLines, n.ID, entries[status.Event]{n.Missed, n.Lines})
	case n.Catalog != nil:
		return s.event(eventCatalog, n.ID, entries[status.CatalogChange]{n.Missed, n.Catalog})
	case n.Series != nil:
		return s.event(eventSecond, n.ID, entries[status.Series]{0, n.Series})
	case n.Lost != nil:
		return s.event(eventFault, n.ID, streamFault{n.Lost.Error()})
	}
	return nil
}

func (s *stream) event(name, id string, data any) error {
	line, err := json.Marshal(data)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.began {
		s.began = true
		s.w.Header().Set("Content-Type", "text/event-stream")
	}
	return s.write(fmt.Sprintf("event: %s\nid: %s\ndata: %s\n\n", name, id, line))
}

// write writes one event or comment with a single Write, as shownWriter requires. The caller must hold mu.
func (s *stream) write(text string) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTime)) // not supported in tests
	if _, err := io.WriteString(s.w, text); err != nil {
		return err
	}
	return s.control.Flush()
}
