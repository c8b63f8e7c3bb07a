package admin

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"testing"

	"goblin-actor/internal/status"
)

// An event that cannot be decoded, or that has no picture to apply to, is reported once. The next stream continues after it.
func TestUndecodableEvent(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Last-Event-ID"))
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: hello\nid: b-0\ndata: {\"boot\":\"b\"}\n\n")
		switch len(asked) {
		case 1:
			fmt.Fprintf(w, "event: finished\nid: b-1\ndata: {\"list\":7}\n\nevent: finished\nid: b-2\ndata: {}\n\n")
		case 2:
			fmt.Fprintf(w, "event: delta\nid: b-2\ndata: {}\n\n")
		default:
			fmt.Fprintf(w, "event: finished\nid: b-3\ndata: {\"list\":[{\"number\":3}]}\n\n")
		}
	})}
	go func() { _ = s.Serve(l) }()
	defer s.Close()
	far := &remote{path: path}
	enough := errors.New("enough")
	lost := 0
	f := &following{tell: func(n status.Notice) error {
		if n.Lost != nil {
			lost++
		}
		if len(n.Finished) > 0 {
			return enough
		}
		return nil
	}}
	f.reader = reader{path: far.path, query: "want=finished,finished", event: f.event, lost: f.lost}
	if err := f.reader.run(t.Context()); err != enough {
		t.Fatal(err)
	}
	if want := []string{"", "b-1", "b-2"}; !slices.Equal(asked, want) || lost != 2 {
		t.Errorf("streams were opened after %q and lost %d times, want %q and 2", asked, lost, want)
	}
	if f.reader.pause != followMin { // of the stream without faults
		t.Errorf("the next pause is %v", f.reader.pause)
	}
}
