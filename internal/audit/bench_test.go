package audit

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"testing"
)

// BenchmarkRecord measures a record's cost for the caller and the writer together. The queue never fills.
func BenchmarkRecord(b *testing.B) {
	for _, size := range []int{16, 4 << 10} {
		b.Run(fmt.Sprintf("arguments=%d", size), func(b *testing.B) { benchRecord(b, size) })
	}
}

func benchRecord(b *testing.B, size int) {
	l, err := Open(settings(filepath.Join(b.TempDir(), "audit.jsonl")), Options{Keys: found(testKeys), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	r := callRecord(1)
	r.Arguments = make([]byte, size)
	b.ReportAllocs()
	before := processorTime(b)
	for i := 0; b.Loop(); i++ {
		l.Record(r)
		if i%batchSize == 0 {
			for uint64(i) > l.sequence.Load()+2*batchSize { // wait for the writer: the disk is not measured
				runtime.Gosched()
			}
		}
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op") // CPU time of all threads: callers, the writer and the system
	if n := l.dropped.Load(); n > 0 {
		b.Errorf("%d records dropped", n)
	}
}

func BenchmarkLine(b *testing.B) {
	c := newChain(testKeys, "")
	r := callRecord(1)
	r.Time = now
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = c.append(buf[:0], &r)
	}
	b.SetBytes(int64(len(buf)))
}

// Recording does not allocate once the queue has grown.
func TestRecordDoesNotAllocate(t *testing.T) {
	c := newChain(testKeys, "")
	r := callRecord(1)
	r.Time = now
	buf := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(1000, func() { buf = c.append(buf[:0], &r) }); n > 0 {
		t.Errorf("appending a line: %v allocations", n)
	}
	l := New(options(t))
	l.flags.Store(uint32(On))
	l.waiting = make([]entry, 0, 4096)
	if n := testing.AllocsPerRun(1000, func() { l.Record(r) }); n > 0 {
		t.Errorf("Record: %v allocations", n)
	}
}
