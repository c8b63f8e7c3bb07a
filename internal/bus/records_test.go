package bus

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// recordBuses returns one bus of each engine that has records. The embedded ones are not voters.
func recordBuses(t *testing.T) map[string]Bus {
	one, three := threeNodes(t), threeVoters(t)
	for i := range one {
		one[i].Voters, one[i].Store = []string{"c"}, t.TempDir()
	}
	address := freeAddress(t, 1)
	b := map[string]Bus{"solo": Solo(), "one voter": startNode(t, one[0])}
	startNode(t, one[2])
	for _, name := range []string{"d", "e"} { // more seeds than voters
		o := newNode(t, name, 4)
		o.Voters = three[0].Voters
		three = append(three, o)
		for i := range three {
			three[i].Seeds = append(three[i].Seeds, o.Routes)
		}
	}
	three[4].Seeds = three[0].Seeds
	for _, o := range three {
		b["three voters"] = startNode(t, o) // the last one stays
	}
	if _, err := exec.LookPath("nats-server"); err == nil {
		startServer(t, address, "-js", "-sd", t.TempDir())
		b["external"] = connectTo(t, address, "a")
	}
	for _, bus := range b {
		t.Cleanup(bus.Close)
		ready(t, bus)
	}
	return b
}

// TestRecordsOfAllEngines runs the tests of records with each engine.
func TestRecordsOfAllEngines(t *testing.T) {
	t.Parallel()
	for name, b := range recordBuses(t) {
		t.Run(name, func(t *testing.T) {
			t.Run("changes", func(t *testing.T) { testChanges(t, b.Records()) })
			t.Run("limits", func(t *testing.T) { testLimits(t, b.Records()) })
			t.Run("watch", func(t *testing.T) { testWatch(t, b.Records()) })
			t.Run("leases", func(t *testing.T) { testLeases(t, b.Records()) })
			if !b.Status().Records.IsZero() {
				t.Errorf("%+v", b.Status())
			}
			b.Close()
			if _, err := b.Records().Watch("x", func(Record) {}); !errors.Is(err, ErrClosed) {
				t.Errorf("Watch after Close: %v", err)
			}
		})
	}
}

func testChanges(t *testing.T, r Records) {
	ctx := t.Context()
	if got, err := r.Get(ctx, "a.b"); !errors.Is(err, ErrNoRecord) {
		t.Errorf("missing: %+v, %v", got, err)
	}
	if _, err := r.Put(ctx, "a.b", []byte("x"), 7); !errors.Is(err, ErrChanged) {
		t.Errorf("Put with a revision that does not exist: %v", err)
	}
	first, err := r.Put(ctx, "a.b", []byte("1"), 0)
	if err != nil || first == 0 {
		t.Fatalf("%d, %v", first, err)
	}
	if _, err := r.Put(ctx, "a.b", []byte("2"), 0); !errors.Is(err, ErrChanged) {
		t.Errorf("second creation: %v", err)
	}
	second, err := r.Put(ctx, "a.b", []byte("2"), first)
	if err != nil || second <= first {
		t.Fatalf("%d after %d, %v", second, first, err)
	}
	if again, err := r.Put(ctx, "a.b", []byte("2"), first); err != nil || again != second {
		t.Errorf("the same write again: %d, %v; want %d", again, err, second)
	}
	if got, err := r.Get(ctx, "a.b"); err != nil || string(got.Value) != "2" || got.Revision != second || got.Key != "a.b" {
		t.Errorf("%+v, %v", got, err)
	}
	if err := r.Delete(ctx, "a.b", first); !errors.Is(err, ErrChanged) {
		t.Errorf("Delete of an old revision: %v", err)
	}
	if err := r.Delete(ctx, "a.b", second); err != nil {
		t.Error(err)
	}
	if err := r.Delete(ctx, "a.b", second); err != nil {
		t.Errorf("second Delete: %v", err)
	}
	if got, err := r.Get(ctx, "a.b"); !errors.Is(err, ErrNoRecord) {
		t.Errorf("deleted: %+v, %v", got, err)
	}
	if _, err := r.Put(ctx, "a.b", []byte("3"), second); !errors.Is(err, ErrChanged) {
		t.Errorf("Put after Delete: %v", err)
	}
	if third, err := r.Put(ctx, "a.b", []byte("3"), 0); err != nil || third <= second {
		t.Errorf("creation after Delete: %d after %d, %v", third, second, err)
	}
}

func testLimits(t *testing.T, r Records) {
	ctx := t.Context()
	for _, key := range []string{"", "a b", "a.*", ">", strings.Repeat("k", MaxKey+1)} {
		_, err := r.Get(ctx, key)
		_, err2 := r.Put(ctx, key, nil, 0)
		if err3 := r.Delete(ctx, key, 1); err == nil || err2 == nil || err3 == nil || errors.Is(err, ErrNoRecord) {
			t.Errorf("key %q: %v, %v, %v", key, err, err2, err3)
		}
	}
	long := strings.Repeat("k", MaxKey)
	if _, err := r.Put(ctx, long, make([]byte, MaxRecord), 0); err != nil {
		t.Error(err)
	}
	if got, err := r.Get(ctx, long); err != nil || len(got.Value) != MaxRecord {
		t.Errorf("%d bytes, %v", len(got.Value), err)
	}
	if _, err := r.Put(ctx, "large", make([]byte, MaxRecord+1), 0); err == nil {
		t.Error("a record that is too large was stored")
	}
	if _, err := r.Put(ctx, "empty", nil, 0); err != nil {
		t.Error(err)
	}
	if got, err := r.Get(ctx, "empty"); err != nil || len(got.Value) != 0 {
		t.Errorf("empty record: %+v, %v", got, err)
	}
}

func testWatch(t *testing.T, r Records) {
	ctx := t.Context()
	put := func(key, value string, revision uint64) uint64 {
		t.Helper()
		revision, err := r.Put(ctx, key, []byte(value), revision)
		if err != nil {
			t.Fatal(err)
		}
		return revision
	}
	old := put("run.a", "old", 0)
	put("login.a", "hidden", 0)
	got := make(chan string, 100)
	cancel, err := r.Watch("run.*", func(r Record) {
		got <- fmt.Sprintf("%s=%s %v", r.Key, r.Value, r.Deleted)
	})
	if err != nil {
		t.Fatal(err)
	}
	expect := func(want string) {
		t.Helper()
		if now := receive(t, got); now != want {
			t.Errorf("got %q, want %q", now, want)
		}
	}
	expect("run.a=old false")
	next := put("run.b", "new", 0)
	expect("run.b=new false")
	put("run.a", "newer", old)
	expect("run.a=newer false")
	if err := r.Delete(ctx, "run.b", next); err != nil {
		t.Fatal(err)
	}
	expect("run.b= true")
	cancel()
	cancel()
	put("run.b", "unseen", 0)
	if len(got) > 0 {
		t.Errorf("after cancel: %s", <-got)
	}
}

// testLeases takes, renews and releases a lease.
func testLeases(t *testing.T, r Records) {
	ctx := t.Context()
	leases := NewLeases(r, time.Now)
	l, err := leases.Take(ctx, "run.lease", "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewLeases(r, time.Now).Take(ctx, "run.lease", "b"); err == nil {
		t.Error("two holders")
	}
	for range 3 {
		if l, err = leases.Renew(ctx, l); err != nil || !l.Certain(time.Now()) {
			t.Fatal(err)
		}
	}
	if err := leases.Release(ctx, l); err != nil {
		t.Error(err)
	}
	if next, err := NewLeases(r, time.Now).Take(ctx, "run.lease", "b"); err != nil || next.Token <= l.Token {
		t.Errorf("after the release: %+v, %v", next, err)
	}
}

// A watch whose handler is slow keeps only the newest state of each record.
func TestSlowWatch(t *testing.T) {
	b := Solo()
	defer b.Close()
	r := b.Records()
	release, got := make(chan struct{}), make(chan string, 100)
	if _, err := r.Watch(">", func(r Record) { <-release; got <- r.Key + string(r.Value) }); err != nil {
		t.Fatal(err)
	}
	revisions := map[string]uint64{}
	for i := range 10 {
		for _, key := range []string{"a", "b"} {
			revision, err := r.Put(context.Background(), key, fmt.Append(nil, i), revisions[key])
			if err != nil {
				t.Fatal(err)
			}
			revisions[key] = revision
		}
	}
	close(release)
	last := map[string]bool{}
	n := 0
	for ; !last["a9"] || !last["b9"]; n++ {
		last[receive(t, got)] = true
	}
	if n > 4 {
		t.Errorf("%d calls for 2 records: %v", n, last)
	}
}

func TestNoVoters(t *testing.T) {
	r := Records(noRecords{})
	_, err := r.Get(t.Context(), "a")
	_, err2 := r.Put(t.Context(), "a", nil, 0)
	_, err3 := r.Watch("a", func(Record) {})
	for _, err := range []error{err, err2, err3, r.Delete(t.Context(), "a", 1)} {
		if !errors.Is(err, ErrNoVoters) {
			t.Error(err)
		}
	}
}

// The records of all keys together are bounded.
func TestLedgerIsBounded(t *testing.T) {
	var l Ledger
	value := make([]byte, MaxRecord)
	n := MaxRecordSum / MaxRecord
	for i := range n {
		if _, err := l.Put(fmt.Sprint("k", i), value, 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Put("more", value, 0); !errors.Is(err, ErrFull) {
		t.Errorf("%v, want %v", err, ErrFull)
	}
	r, _ := l.Get("k0")
	if _, err := l.Delete("k0", r.Revision); err != nil {
		t.Error(err)
	}
	if _, err := l.Put("more", value, 0); err != nil {
		t.Error(err)
	}
}
