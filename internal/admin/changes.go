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

// The events of /eventz?want=catalog. The id of each is boot-number: who comes back with it as Last-Event-ID goes on there.
const (
	eventHello  = "hello"  // first, a changesHello
	eventChange = "change" // a status.CatalogChange
	eventLost   = "lost"   // a changesLost: the reader was too slow, or away for too long
)

// changesHello says whose numbers these are.
type changesHello struct {
	Boot string `json:"boot"` // of the gateway: another one counts anew
	Last uint64 `json:"last"` // the newest change there is
}

// changesLost says how many changes will never be told.
type changesLost struct {
	Lost uint64 `json:"lost"`
}

// changing is a status.Source that remembers what has become of the catalog: that of a gateway in this process.
type changing interface {
	CatalogChanges() *status.CatalogChanges
}

// changesz: typed changes of the catalog as server-sent events, all that are remembered and then as they come; ?after=now leaves out
// those remembered. It goes on until the reader leaves or the socket is closed, or with ?once until all that is remembered is told.
func changesz(src status.Source) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		of, ok := src.(changing)
		if !ok || of.CatalogChanges() == nil {
			http.Error(w, "no changes of a catalog are remembered here", http.StatusNotFound)
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

// startOf returns the number after which the reader wants to be told.
func startOf(r *http.Request, changes *status.CatalogChanges) (uint64, error) {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		boot, number, _ := strings.Cut(id, "-")
		n, err := strconv.ParseUint(number, 10, 64)
		switch {
		case err != nil:
			return 0, fmt.Errorf("header Last-Event-ID %q: want one that was given here", id)
		case boot != changes.Boot():
			return 0, nil // of another life: all that is remembered of this one is new
		}
		return min(n, changes.Last()), nil
	}
	if r.URL.Query().Get("after") == "now" {
		return changes.Last(), nil
	}
	return number(r, "after")
}

// changeStream writes one reader's events. Its first error ends it.
type changeStream struct {
	w     io.Writer
	flush func() error
	boot  string
	after uint64 // number of the last change told
	err   error
}

func (s *changeStream) follow(r *http.Request, changes *status.CatalogChanges) {
	beat := time.NewTicker(eventBeat)
	defer beat.Stop()
	for {
		list, more := changes.After(s.after)
		s.tell(list)
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

// tell writes changes, and before them how many were lost.
func (s *changeStream) tell(list []status.CatalogChange) {
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
