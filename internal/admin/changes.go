package admin

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"goblin-actor/internal/status"
)

// Events of /eventz?want=catalog. The id of an event is <boot>-<number>. A client that sends an id as Last-Event-ID
// resumes after that event.
const (
	eventHello  = "hello"  // first event, a changesHello
	eventChange = "change" // a status.CatalogChange
	eventLost   = "lost"   // a changesLost: the client was too slow or disconnected for too long
)

// changesHello identifies the numbering of changes.
type changesHello struct {
	Boot string `json:"boot"` // id of the gateway process; another process starts numbering again
	Last uint64 `json:"last"` // number of the last change
}

// changesLost reports how many changes were lost.
type changesLost struct {
	Lost uint64 `json:"lost"`
}

// changing is a status.Source in this process that can store changes to the catalog. CatalogChanges returns nil if it
// does not.
type changing interface {
	CatalogChanges() *status.CatalogChanges
}

// changesz serves changes to the catalog as server-sent events: the stored changes, then new ones. Last-Event-ID or
// ?after skips earlier changes, and ?after=now skips all stored ones. The stream ends when the client disconnects or
// the socket is closed. With ?once it ends after the stored changes.
func changesz(src status.Source) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		of, ok := src.(changing)
		if !ok || of.CatalogChanges() == nil {
			http.Error(w, "this process does not store changes to the catalog", http.StatusNotFound)
			return
		}
		changes := of.CatalogChanges()
		after, err := startOf(r, changes)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		s := changeStream{w: w, flush: http.NewResponseController(w).Flush, boot: changes.Boot(), after: after}
		s.event(eventHello, after, changesHello{s.boot, changes.Last()})
		s.follow(r, changes)
	}
}

// startOf returns the number of the change after which the client wants to continue.
func startOf(r *http.Request, changes *status.CatalogChanges) (uint64, error) {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		boot, number, _ := strings.Cut(id, "-")
		n, err := strconv.ParseUint(number, 10, 64)
		switch {
		case err != nil:
			return 0, fmt.Errorf("header Last-Event-ID %q is not an id of this stream", id)
		case boot != changes.Boot():
			return 0, nil // id of another process: all stored changes are new
		}
		return min(n, changes.Last()), nil
	}
	if r.URL.Query().Get("after") == "now" {
		return changes.Last(), nil
	}
	return number(r, "after")
}

// changeStream writes events to one client. Its first error ends it.
type changeStream struct {
	w     io.Writer
	flush func() error
	boot  string
	after uint64 // number of the last change written
	err   error
}

func (s *changeStream) follow(r *http.Request, changes *status.CatalogChanges) {
	beat := time.NewTicker(eventBeat)
	defer beat.Stop()
	for {
		list, more := changes.After(s.after)
		s.writeChanges(list)
		if s.err == nil {
			s.err = s.flush()
		}
		if s.err != nil || r.URL.Query().Has("once") {
			return
		}
		select {
		case <-more:
		case <-beat.C:
			_, s.err = io.WriteString(s.w, ": still here\n\n")
		case <-r.Context().Done():
			return
		}
	}
}

// writeChanges writes the number of lost changes, if any, and then the changes.
func (s *changeStream) writeChanges(list []status.CatalogChange) {
	for i := range list {
		c := &list[i]
		if lost := c.Number - s.after - 1; lost > 0 {
			s.event(eventLost, c.Number-1, changesLost{lost})
		}
		s.after = c.Number
		s.event(eventChange, c.Number, c)
	}
}

func (s *changeStream) event(name string, number uint64, data any) {
	if s.err != nil {
		return
	}
	var line []byte
	if line, s.err = json.Marshal(data); s.err == nil {
		_, s.err = fmt.Fprintf(s.w, "event: %s\nid: %s-%d\ndata: %s\n\n", name, s.boot, number, line)
	}
}
