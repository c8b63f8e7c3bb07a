package audit

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A process that finds only rotated files continues their chain in a new file.
func TestChainContinuesAfterNewestRotatedFile(t *testing.T) {
	path := writeLog(t, 5, nil)
	if err := os.Rename(path, rotatedName(path, 1)); err != nil {
		t.Fatal(err)
	}
	addTo(t, path, 5, nil)
	if r := verified(t, path, Trust{Key: testKeys.Public()}); r.Fault != nil || r.Files != 2 || len(r.Notes) != 0 {
		t.Errorf("got %+v, fault %v; want 2 files and no notes", r, r.Fault)
	}
}

func TestRotationUnderLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	s := settings(path)
	s.Size = 64 << 10
	l, err := Open(s, options(t))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 1000 {
				l.Record(callRecord(i))
			}
		})
	}
	all.Wait()
	closed(t, l)
	r := verified(t, path, Trust{Key: testKeys.Public()})
	if r.Fault != nil || r.Files < 10 {
		t.Errorf("got %+v, fault %v; want at least 10 files", r, r.Fault)
	}
	if calls, _ := countOf(t, path, EventCall); calls != 8000 || r.Dropped != 0 {
		t.Errorf("got %d calls, want 8000; %d dropped", calls, r.Dropped)
	}
}

func TestRotationByAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		s := settings(path)
		s.Age = 50 * time.Millisecond
		l, err := Open(s, options(t))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			time.Sleep(60 * time.Millisecond)
			before := l.sequence.Load()
			l.Record(callRecord(1))
			eventually(t, "the record is written", func() bool { return l.sequence.Load() > before })
		}
		closed(t, l)
		if r := verified(t, path, Trust{Key: testKeys.Public()}); r.Fault != nil || r.Files != 4 {
			t.Errorf("got %+v, fault %v; want 4 files", r, r.Fault)
		}
	})
}
