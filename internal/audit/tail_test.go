package audit

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

func TestNewestReadsFromTheEnd(t *testing.T) {
	path := writeLog(t, 4000, func(s *Settings) { s.Size = 256 << 10 })
	l, err := Open(settings(path), options(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []Record{
		{Event: EventCall, Who: "key:other", Server: "files", Item: "write_file", Time: time.Now().Add(time.Hour)},
		{Event: EventDenied, Peer: "10.0.0.1", Time: time.Now().Add(2 * time.Hour)},
		{Event: EventCall, Who: "local", Server: "github", Item: "file:///notes/a.txt", Time: time.Now().Add(3 * time.Hour)},
	} {
		l.Record(r)
	}
	closed(t, l)
	for _, c := range []struct {
		filter      Filter
		n           int
		want        int
		first, last string
	}{
		{Filter{Brief: true}, 20, 20, "read_file", "file:///notes/a.txt"},
		{Filter{Brief: true}, 1, 1, "file:///notes/a.txt", "file:///notes/a.txt"},
		{Filter{Who: "ci"}, 5000, 4000, "read_file", "read_file"},
		{Filter{Who: "key:ci"}, 10, 10, "read_file", "read_file"},
		{Filter{Who: "other"}, 10, 1, "write_file", "write_file"},
		{Filter{Who: "key:*"}, 2, 2, "read_file", "write_file"},
		{Filter{Item: "*_file", Server: "f*"}, 1, 1, "write_file", "write_file"},
		{Filter{Item: "file://*.txt"}, 9, 1, "file:///notes/a.txt", "file:///notes/a.txt"},
		{Filter{Brief: true, Since: time.Now().Add(30 * time.Minute)}, 100, 3, "write_file", "file:///notes/a.txt"},
		{Filter{Who: "absent"}, 10, 0, "", ""},
	} {
		found, end, err := Newest(path, c.filter, c.n)
		if err != nil || len(found) != c.want {
			t.Errorf("%+v: got %d lines %v, want %d", c.filter, len(found), err, c.want)
			continue
		}
		if c.want > 0 && (found[0].Item != c.first || found[len(found)-1].Item != c.last) {
			t.Errorf("%+v: got items from %s to %s", c.filter, found[0].Item, found[len(found)-1].Item)
		}
		if end.offset != end.file.Size() {
			t.Errorf("%+v: end at offset %d of %d", c.filter, end.offset, end.file.Size())
		}
	}
}

// Newest with an empty Filter returns every line that Verify counts.
func TestNewestFindsEveryLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := Open(settings(path), options(t))
	if err != nil {
		t.Fatal(err)
	}
	l.Record(callRecord(0))
	closed(t, l)
	report, err := Verify(Files(path), Trust{})
	if err != nil || report.Lines < 3 { // the file, the call, a checkpoint
		t.Fatalf("%+v %v", report, err)
	}
	found, _, err := Newest(path, Filter{}, 1000)
	if err != nil || uint64(len(found)) != report.Lines {
		t.Errorf("Newest returned %d lines, Verify counted %d (%v)", len(found), report.Lines, err)
	}
}

func TestMatchesPattern(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"a*", "abc", true}, {"*c", "abc", true}, {"a*c", "abc", true}, {"a*c", "ab", false},
		{"*b*", "abc", true}, {"a*a", "a", false}, {"a*b*c", "a_b_b_c", true}, {"*.txt", "x.txt.gz", false}, {"**", "x", true},
	} {
		if got := matchesPattern(c.pattern, c.text); got != c.want {
			t.Errorf("matchesPattern(%q, %q): got %v", c.pattern, c.text, got)
		}
	}
}

// Follow passes on each line once, in order and across rotations, whether the line was written before Follow started
// or after.
func TestFollowContinuesAcrossRotations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		s := settings(path)
		s.Size = 16 << 10
		l, err := Open(s, options(t))
		if err != nil {
			t.Fatal(err)
		}
		record := func(i int) {
			r := callRecord(0)
			r.Item = fmt.Sprint(i)
			l.Record(r)
		}
		for i := range 5 {
			record(i)
		}
		time.Sleep(time.Second)
		log := NewLogFiles(path, "a", Filter{Brief: true})
		defer log.Close()
		found, err := log.Newest(3)
		if err != nil || len(found) != 3 || found[2].Item != "4" {
			t.Fatalf("got %v %v", found, err)
		}
		ctx, stop := context.WithCancelCause(t.Context())
		next := 5
		done := make(chan error)
		go func() {
			done <- Follow(ctx, func() []Source { return []Source{log} }, func(e Entry) error {
				if e.Item != fmt.Sprint(next) || e.Log != "a" {
					return fmt.Errorf("got %s, want %d", e.Item, next)
				}
				next++
				return nil
			})
		}()
		for i := 5; i < 1000; i++ {
			record(i)
			if i%7 == 0 {
				time.Sleep(130 * time.Millisecond)
			}
		}
		closed(t, l)
		time.Sleep(time.Minute)
		enough := errors.New("enough")
		stop(enough)
		if err := <-done; !errors.Is(err, enough) || next != 1000 {
			t.Errorf("Follow returned %v after line %d, want the cause of the context after line 1000", err, next)
		}
	})
}
