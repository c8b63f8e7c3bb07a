package audit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// verifyLines verifies a log of the given records, without a closing checkpoint.
func verifyLines(t *testing.T, trust Trust, records ...Record) Report {
	t.Helper()
	c := newChain(testKeys, "")
	var b []byte
	for i := range records {
		b = c.append(b, &records[i])
	}
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return verified(t, path, trust)
}

func callsAt(at time.Time, n int) []Record {
	records := []Record{{Event: EventFile, Count: 1, Time: now}}
	for i := range n {
		r := callRecord(i)
		r.Time = at
		records = append(records, r)
	}
	return records
}

// At most maxUnsigned lines may be unsigned.
func TestVerifyLimitsUnsignedLines(t *testing.T) {
	for n, fault := range map[int]bool{maxUnsigned: false, maxUnsigned + 1: true} {
		if r := verifyLines(t, Trust{}, callsAt(now, n)...); (r.Fault != nil) != fault {
			t.Errorf("%d unsigned lines: got fault %v, want one: %v", n, r.Fault, fault)
		}
	}
}

// A clock that was set back by more than a minute is noted.
func TestVerifyNotesClock(t *testing.T) {
	for back, notes := range map[time.Duration]int{0: 0, time.Minute: 0, time.Minute + time.Microsecond: 1} {
		if r := verifyLines(t, Trust{}, callsAt(now.Add(-back), 1)...); r.Fault != nil || len(r.Notes) != notes {
			t.Errorf("clock set back by %v: got fault %v, notes %v, want %d", back, r.Fault, r.Notes, notes)
		}
	}
}

// The log must reach the line of the mark, and that line must have the mark's sum.
func TestVerifyMark(t *testing.T) {
	records := callsAt(now, 3) // lines 1 to 4
	c := newChain(testKeys, "")
	sums := make([]string, 5)
	for i := range records {
		sums[i+1] = SumOf(bytes.TrimSuffix(c.append(nil, &records[i]), []byte("\n")))
	}
	for _, x := range []struct {
		mark Mark
		line int // line of the fault; -1 = none
	}{
		{Mark{N: 4, Sum: sums[4]}, -1}, {Mark{N: 3, Sum: sums[3]}, -1}, {Mark{N: 4}, -1}, {Mark{N: 1, Sum: sums[1]}, -1},
		{Mark{N: 5, Sum: sums[4]}, 0}, {Mark{N: 4, Sum: sums[3]}, 4}, {Mark{N: 1, Sum: sums[4]}, 1},
	} {
		r := verifyLines(t, Trust{Mark: &x.mark}, records...)
		if (r.Fault == nil) != (x.line < 0) || r.Fault != nil && r.Fault.Line != x.line {
			t.Errorf("mark %+v: got fault %v, want line %d", x.mark, r.Fault, x.line)
		}
	}
}

// A line is rejected if any single field of a Filter does not match.
func TestFilterComparesEachField(t *testing.T) {
	line := Line{Event: EventCall, Who: "key:ci", Server: "files", Item: "read_file", Time: now}
	for name, c := range map[string]struct {
		f    Filter
		want bool
	}{
		"empty":           {Filter{}, true},
		"all fields":      {Filter{Who: "ci", Server: "files", Item: "read_file", Since: now, Brief: true}, true},
		"id":              {Filter{Who: "key:ci"}, true},
		"another who":     {Filter{Who: "cd", Server: "files", Item: "read_file", Since: now}, false},
		"kind alone":      {Filter{Who: "key"}, false},
		"another server":  {Filter{Who: "ci", Server: "file", Item: "read_file", Since: now}, false},
		"another item":    {Filter{Who: "ci", Server: "files", Item: "read_files", Since: now}, false},
		"a moment before": {Filter{Who: "ci", Server: "files", Item: "read_file", Since: now.Add(time.Nanosecond)}, false},
	} {
		if got := c.f.Admits(&line); got != c.want {
			t.Errorf("%s: Admits is %v, want %v", name, got, c.want)
		}
	}
	for event, brief := range map[string]bool{EventFile: false, EventCheckpoint: false, EventOpen: false, EventRepair: true, EventDropped: true, EventMissing: true, EventDenied: true} {
		l := Line{Event: event}
		if got := (&Filter{Brief: true}).Admits(&l); got != brief {
			t.Errorf("event %s with Brief: Admits is %v, want %v", event, got, brief)
		}
	}
}

// Denials are equal if peer (for IPv6, its /64), principal and outcome are equal. A difference in any one of them
// makes them distinct.
func TestDenialsDifferInEachField(t *testing.T) {
	base := Record{Event: EventDenied, Time: now, Peer: "10.0.0.1", Who: "key:a", Outcome: "UNAUTHENTICATED"}
	other := func(change func(*Record)) Record { r := base; change(&r); return r }
	var d denials
	for i, c := range []struct {
		r    Record
		want bool
	}{
		{base, true}, {base, false},
		{other(func(r *Record) { r.Peer = "10.0.0.2" }), true},
		{other(func(r *Record) { r.Who = "key:b" }), true},
		{other(func(r *Record) { r.Outcome = "FORBIDDEN" }), true},
		{other(func(r *Record) { r.Peer = "[2001:db8::1]" }), true},
		{other(func(r *Record) { r.Peer = "2001:db8::ffff:ffff:ffff:ffff" }), false},
		{other(func(r *Record) { r.Peer = "2001:db8:0:1::1" }), true},
		{other(func(r *Record) { r.Detail, r.Method = "x", "POST" }), false},
	} {
		if got := d.admit(&c.r); got != c.want {
			t.Errorf("denial %d (%s, %s, %s): admitted %v, want %v", i, c.r.Peer, c.r.Who, c.r.Outcome, got, c.want)
		}
	}
}

// A window of denials closes exactly at its end, when forced, and when the clock was set back by at least a window.
func TestDenialWindow(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		must  bool
		want  int
	}{{denialWindow - 1, false, 0}, {denialWindow, false, 1}, {0, true, 1}, {-denialWindow + 1, false, 0}, {-denialWindow, false, 1}} {
		var d denials
		for range 2 {
			d.admit(&Record{Event: EventDenied, Time: now, Peer: "10.0.0.1"})
		}
		if got := d.closeWindow(now.Add(c.after), c.must); len(got) != c.want || c.want == 1 && got[0].Count != 1 {
			t.Errorf("%v after the start (must: %v): got %v, want %d", c.after, c.must, got, c.want)
		}
	}
}

// Up to maxDenials kinds of denials of unknown clients, and maxNamed of principals, are counted separately. All others
// are counted together.
func TestDenialKindsAreLimited(t *testing.T) {
	for who, limit := range map[string]int{"": maxDenials, "key:%d": maxNamed} {
		var d denials
		admitted := 0
		for i := range limit + 5 {
			r := Record{Event: EventDenied, Time: now, Peer: fmt.Sprintf("peer%d", i), Who: who}
			if who != "" {
				r.Who = fmt.Sprintf(who, i)
			}
			if d.admit(&r) {
				admitted++
			}
		}
		rest := d.closeWindow(now, true)
		if admitted != limit || len(rest) != 1 || rest[0].Count != 5 {
			t.Errorf("principal %q: %d admitted, want %d; rest %v, want 5", who, admitted, limit, rest)
		}
	}
}

// A file is rotated as soon as it reaches the configured size or age.
func TestRotationThresholds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			age  time.Duration // age of the file when the record is written
			want int
		}{{time.Hour - time.Nanosecond, 1}, {time.Hour, 2}} {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			s := settings(path)
			s.Age = time.Hour
			l, err := Open(s, options(t))
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(c.age - flushDelay)
			l.Record(callRecord(1))
			time.Sleep(flushDelay)
			synctest.Wait()
			if got := len(Files(path)); got != c.want {
				t.Errorf("age %v: %d files, want %d", c.age, got, c.want)
			}
			closed(t, l)
		}
		first := writeLog(t, 0, nil)
		info, err := os.Stat(first)
		if err != nil {
			t.Fatal(err)
		}
		size := info.Size()
		for more, want := range map[int64]int{0: 2, 1: 1} {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			w := writer{l: New(options(t)), s: settings(path)}
			w.l.keys = testKeys
			o, err := opener{keys: testKeys}.open(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.begin(o); err != nil {
				t.Fatal(err)
			}
			w.s.Size = w.size + more
			if err := w.rotate(time.Now()); err != nil {
				t.Fatal(err)
			}
			if got := len(Files(path)); got != want {
				t.Errorf("%d bytes below the limit (a file line has %d): %d files, want %d", more, size, got, want)
			}
			if err := w.close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Pruning leaves the newest Keep rotated files.
func TestPruneKeepsNewest(t *testing.T) {
	for keep, want := range map[int][]string{0: {"1", "2", "3"}, 1: {"3"}, 2: {"2", "3"}, 3: {"1", "2", "3"}, 4: {"1", "2", "3"}} {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		for n := range uint64(3) {
			if err := os.WriteFile(rotatedName(path, n+1), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		w := writer{l: New(options(t)), s: Settings{File: path, Keep: keep}}
		w.prune()
		var got []string
		for _, file := range Rotated(path) {
			got = append(got, fmt.Sprint(numberOf(path, file)))
		}
		if !slices.Equal(got, want) {
			t.Errorf("Keep %d: left %v, want %v", keep, got, want)
		}
	}
}

// Rotated files are ordered numerically, whatever their number of digits. Files with other names are ignored.
func TestRotatedOrder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	for _, name := range []string{"audit-000010.jsonl", "audit-000009.jsonl", "audit-1000000.jsonl", "audit-999999.jsonl", "audit-12345.jsonl", "audit-000001.json", "other-000001.jsonl", "audit-00000x.jsonl"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "audit-000011.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, file := range Rotated(path) {
		got = append(got, filepath.Base(file))
	}
	if want := []string{"audit-000009.jsonl", "audit-000010.jsonl", "audit-999999.jsonl", "audit-1000000.jsonl"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A text is truncated only beyond its limit, and never within a character.
func TestTextLimit(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("x", 8): strings.Repeat("x", 8), strings.Repeat("x", 9): strings.Repeat("x", 8) + "…",
		"xxxxxxé": "xxxxxxé", "xxxxxxxé": "xxxxxxx…", "": "",
	} {
		if got := string(appendText(nil, text, 8)); got != `"`+want+`"` {
			t.Errorf("%q: got %s, want %q", text, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0.000", time.Microsecond: "0.001", 999 * time.Microsecond: "0.999", time.Millisecond: "1.000", 1234567 * time.Microsecond: "1234.567", -time.Second: "0.000"} {
		if got := string(appendMillis(nil, d)); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}

// A line may have at most maxLine bytes.
func TestParseLineLimit(t *testing.T) {
	line := `{"n":1,"time":"2026-11-25T12:00:00Z","event":"call","prev":""}`
	for n, ok := range map[int]bool{len(line): true, maxLine: true, maxLine + 1: false} {
		if _, err := ParseLine([]byte(line + strings.Repeat(" ", n-len(line)))); (err == nil) != ok {
			t.Errorf("%d bytes: got %v, want success: %v", n, err, ok)
		}
	}
	for _, bad := range []string{`{"n":0,"time":"2026-11-25T12:00:00Z","event":"call"}`, `{"n":1,"event":"call"}`, `{"n":1,"time":"2026-11-25T12:00:00Z"}`} {
		if _, err := ParseLine([]byte(bad)); err == nil {
			t.Errorf("accepted %s", bad)
		}
	}
}

// batchSize records are written immediately. Fewer records wait for flushDelay.
func TestBatchIsWrittenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for n, written := range map[int]bool{batchSize - 1: false, batchSize: true} {
			l, err := Open(settings(filepath.Join(t.TempDir(), "audit.jsonl")), options(t))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			before := l.sequence.Load()
			for i := range n {
				l.Record(callRecord(i))
			}
			synctest.Wait()
			if got := l.sequence.Load() > before; got != written {
				t.Errorf("%d records: written at once %v, want %v", n, got, written)
			}
			time.Sleep(flushDelay)
			synctest.Wait()
			if got := l.sequence.Load(); got < before+uint64(n) {
				t.Errorf("%d records: %d lines after flushDelay", n, got-before)
			}
			closed(t, l)
		}
	})
}

// A required log starts to refuse calls when exactly half of its backlog is used.
func TestRefusingThreshold(t *testing.T) {
	l := New(options(t))
	l.flags.Store(uint32(On) | required)
	for range maxBacklog/2 - 1 {
		l.Record(callRecord(0))
	}
	if l.Flags().Has(Refusing) {
		t.Error("refuses with one record less than half of the backlog")
	}
	l.Record(callRecord(0))
	if !l.Flags().Has(Refusing) {
		t.Error("does not refuse at half of the backlog")
	}
}

// A record whose callback waits for the disk counts like any other.
func TestRefusingThresholdUnderSyncEach(t *testing.T) {
	l := New(options(t))
	l.flags.Store(uint32(On|Each) | required)
	for range maxBacklog / 2 {
		l.Commit(callRecord(0), func() {})
	}
	if !l.Flags().Has(Refusing) {
		t.Error("does not refuse at half of the backlog")
	}
}

// Has requires all flags, not any.
func TestFlagsHas(t *testing.T) {
	for _, c := range []struct {
		f, what Flags
		want    bool
	}{{On, On, true}, {On, On | Each, false}, {On | Each, On | Each, true}, {On | Each | Both, Each, true}, {0, On, false}, {Refusing, On, false}} {
		if got := c.f.Has(c.what); got != c.want {
			t.Errorf("%b.Has(%b) = %v, want %v", c.f, c.what, got, c.want)
		}
	}
}

// The log records missing lines if a known line of the same file is beyond its end, and in no other case.
func TestCheckMark(t *testing.T) {
	for _, c := range []struct {
		name  string
		more  int64 // number of lines between the end of the log and the mark
		other bool  // the mark belongs to another file
		want  int
	}{{"the last line", 0, false, 0}, {"one line more", 1, false, 1}, {"one line less", -1, false, 0}, {"another file", 5, true, 0}} {
		path := writeLog(t, 5, nil)
		mark := markOf(t, path)
		mark.N, mark.File = uint64(int64(mark.N)+c.more), path
		if c.other {
			mark.File += "x"
		}
		l, err := Open(settings(path), options(t))
		if err != nil {
			t.Fatal(err)
		}
		l.CheckMark(mark)
		closed(t, l)
		if got, _ := countOf(t, path, EventMissing); got != c.want {
			t.Errorf("%s: %d lines of EventMissing, want %d", c.name, got, c.want)
		}
	}
}
