package claim

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// bench runs Claims of one node by hand.
type bench struct {
	t    *testing.T
	c    *Claims
	now  time.Time
	last []any // results of the last step
}

func newBench(t *testing.T, value string) *bench {
	tags := 0
	b := &bench{t: t, now: epoch, c: New(func() string { tags++; return fmt.Sprintf("a.%d", tags) })}
	b.last = b.c.Open(b.now, rawOf(value), nil)
	return b
}

func rawOf(value string) json.RawMessage {
	if value == "" {
		return nil
	}
	return json.RawMessage(value)
}

// found returns a result of type T of the last step.
func found[T any](b *bench) T {
	b.t.Helper()
	for _, o := range b.last {
		if is, ok := o.(T); ok {
			return is
		}
	}
	var none T
	b.t.Fatalf("no %T in %+v", none, b.last)
	return none
}

func (b *bench) got(s Stored, err error) {
	b.t.Helper()
	b.last = b.c.Step(b.now, Got{found[Get](b).Number, s, err}, nil)
}

func (b *bench) written(revision uint64, err error) {
	b.t.Helper()
	b.last = b.c.Step(b.now, Written{found[Put](b).Number, revision, err}, nil)
}

func (b *bench) saw(s Stored) { b.last = b.c.Step(b.now, Seen{s}, nil) }

func (b *bench) want() { b.last = b.c.Want(b.now, nil) }

// sleep waits for the last Wake.
func (b *bench) sleep(want time.Duration) {
	b.t.Helper()
	w := found[Wake](b)
	if w.After != want {
		b.t.Errorf("it wakes after %v, want %v", w.After, want)
	}
	b.now = b.now.Add(w.After)
	b.last = b.c.Step(b.now, Woken{w.Timer}, nil)
}

func stored(revision uint64, value, version, claim string) Stored {
	return Stored{Record: Record{Value: rawOf(value), Version: version, Claim: claim}, Revision: revision}
}

// The copy of a node is written if there is no record. Otherwise the record counts.
func TestOpen(t *testing.T) {
	b := newBench(t, "1")
	b.got(Stored{}, nil)
	if p := found[Put](b); p.Revision != 0 || string(p.Record.Value) != "1" || p.Record.Claim != "" {
		t.Errorf("put %+v", p)
	}
	b.written(0, ErrChanged)
	b.sleep(conflictPause)
	b.got(stored(5, "2", "b.1", ""), nil)
	if c := found[Changed](b); string(c.Value) != "2" || c.Live {
		t.Errorf("%+v", c)
	}
	b.saw(stored(6, "3", "b.2", ""))
	if c := found[Changed](b); string(c.Value) != "3" || !c.Live {
		t.Errorf("%+v", c)
	}
	b.saw(stored(4, "0", "b.0", ""))
	if len(b.last) != 0 {
		t.Errorf("an older revision has an effect: %+v", b.last)
	}
}

// A node that finds the voters unavailable reports it, and reads again after pauses that double.
func TestOpenWithoutQuorum(t *testing.T) {
	b := newBench(t, "")
	for _, pause := range []time.Duration{1, 2, 4, 8, 10, 10} {
		b.got(Stored{}, errNoQuorum)
		if u := found[Unreachable](b); !errors.Is(u.Err, errNoQuorum) {
			t.Errorf("%v", u.Err)
		}
		b.sleep(pause * time.Second)
	}
	b.got(Stored{}, nil)
	found[Opened](b)
}

// The claim of another node is contested at the age of 45 s, and taken over 15 s after the contest was written. The age is counted from the
// moment in which this node has seen the revision.
func TestContest(t *testing.T) {
	b := newBench(t, "")
	b.got(stored(5, "1", "b.1", "b.7"), nil)
	b.now = b.now.Add(20 * time.Second)
	b.want()
	b.sleep(25 * time.Second)
	p := found[Put](b)
	if p.Revision != 5 || p.Record.Claim != "b.7" || p.Record.Contest == "" || string(p.Record.Value) != "1" {
		t.Fatalf("contest %+v", p)
	}
	b.now = b.now.Add(3 * time.Second)
	b.written(6, nil)
	contest := Stored{Record: p.Record, Revision: 6}
	for range 5 {
		b.sleep(3 * time.Second)
		b.got(contest, nil)
	}
	if p := found[Put](b); p.Revision != 6 || p.Record.Claim != b.c.claim || p.Record.Contest != "" {
		t.Fatalf("takeover %+v", p)
	}
	sent := b.now
	b.now = b.now.Add(time.Second)
	b.written(7, nil)
	if c := found[Claimed](b); string(c.Value) != "1" || !c.Until.Equal(sent.Add(25*time.Second)) {
		t.Errorf("%+v", c)
	}
}

// A claimant writes its value over a contest, and over the claim of a node that has taken over.
func TestClaimantOverwrites(t *testing.T) {
	b := newBench(t, "")
	b.got(stored(5, "1", "b.1", ""), nil)
	b.want()
	b.written(6, nil)
	found[Claimed](b)
	b.saw(stored(9, "1", "b.1", "c.1"))
	if len(b.last) != 0 || !b.c.Holds() {
		t.Fatalf("the claim ends: %+v", b.last)
	}
	b.last, _ = b.c.Done(b.now, json.RawMessage("2"), nil)
	if p := found[Put](b); p.Revision != 9 || string(p.Record.Value) != "2" || p.Record.Claim != "" {
		t.Errorf("%+v", p)
	}
	b.written(0, errNoQuorum)
	found[Unsaved](b)
	b.sleep(time.Second)
	b.got(stored(10, "2", b.c.next.Version, ""), nil) // it had been written
	found[Saved](b)
}

// A value that was obtained under a claim is discarded if another login has taken its place.
func TestOvertaken(t *testing.T) {
	for _, other := range []Stored{stored(9, "7", "c.1", ""), {Record: Record{Version: "c.1", Ended: 1}, Revision: 9}} {
		b := newBench(t, "")
		b.got(stored(5, "1", "b.1", ""), nil)
		b.want()
		b.written(6, nil)
		b.last, _ = b.c.Done(b.now, json.RawMessage("2"), nil)
		b.written(0, ErrChanged)
		b.sleep(conflictPause)
		b.got(other, nil)
		found[Overtaken](b)
		if c := found[Changed](b); !reflect.DeepEqual(c.Value, other.Value) {
			t.Errorf("%+v", c)
		}
	}
}

// A claim counts only if its Put took at most 10 s; else it is written again.
func TestSlowClaim(t *testing.T) {
	b := newBench(t, "")
	b.got(stored(5, "1", "b.1", ""), nil)
	b.want()
	b.now = b.now.Add(maxSent + 1)
	b.written(6, nil)
	if p := found[Put](b); p.Revision != 6 || p.Record.Claim != b.c.claim {
		t.Errorf("%+v", p)
	}
	b.written(7, nil)
	found[Claimed](b)
}

// A node that waits for the claim of another node learns that its renewal has failed.
func TestGiveUp(t *testing.T) {
	b := newBench(t, "")
	b.got(stored(5, "1", "b.1", ""), nil)
	b.want()
	b.written(6, nil)
	b.last = b.c.GiveUp(b.now, "HTTP 503", nil)
	given := found[Put](b).Record
	if given.Claim != "" || given.Failure != "HTTP 503" || string(given.Value) != "1" {
		t.Errorf("%+v", given)
	}
	other := newBench(t, "")
	other.got(stored(6, "1", "b.1", "b.9"), nil)
	other.want()
	other.saw(Stored{Record: given, Revision: 7})
	if n := found[NotClaimed](other); n.Err.Error() != "HTTP 503" || !n.Remote {
		t.Errorf("%+v", n)
	}
	other.want()
	if p := found[Put](other); p.Record.Claim == "" || p.Record.Failure != "" {
		t.Errorf("%+v", p)
	}
}

// Without quorum nothing is claimed. A record that cannot be opened is not used, but a new login replaces it.
func TestNotClaimed(t *testing.T) {
	b := newBench(t, "")
	b.got(stored(5, "1", "b.1", ""), nil)
	b.want()
	b.written(0, errNoQuorum)
	if n := found[NotClaimed](b); !errors.Is(n.Err, errNoQuorum) {
		t.Errorf("%+v", n)
	}
	unknown := errors.New("unknown secret")
	b.saw(Stored{Revision: 8, Invalid: unknown})
	b.want()
	b.got(Stored{Revision: 8, Invalid: unknown}, nil)
	if n := found[NotClaimed](b); !errors.Is(n.Err, unknown) {
		t.Errorf("%+v", n)
	}
	b.last = b.c.Replace(b.now, json.RawMessage("9"), nil)
	if p := found[Put](b); p.Revision != 8 || string(p.Record.Value) != "9" {
		t.Errorf("%+v", p)
	}
}

// A record that could not be opened is used when it is seen again with a secret that was added since.
func TestSecretAdded(t *testing.T) {
	b := newBench(t, "")
	b.got(Stored{Revision: 5, Invalid: errors.New("unknown secret")}, nil)
	if o := found[Opened](b); o.Err == nil || !b.c.Unusable() {
		t.Errorf("%+v", o)
	}
	b.saw(stored(5, "1", "b.1", ""))
	if c := found[Changed](b); string(c.Value) != "1" || b.c.Unusable() {
		t.Errorf("%+v", c)
	}
}

// A login that replaces a removal whose result was lost still reports the value that was removed.
func TestReplaceRemoval(t *testing.T) {
	b := newBench(t, "")
	b.got(stored(5, "1", "b.1", ""), nil)
	b.last = b.c.Replace(b.now, nil, nil)
	removed := found[Put](b).Record
	b.written(0, errNoQuorum)
	b.last = b.c.Replace(b.now, json.RawMessage("2"), nil)
	b.got(Stored{Record: removed, Revision: 6}, nil)
	b.written(7, nil)
	if s := found[Saved](b); string(s.Previous) != "1" {
		t.Errorf("previous %q, want 1", s.Previous)
	}
}

// After a restart of its actor, a node forgets its claim but not what it has to write.
func TestResume(t *testing.T) {
	b := newBench(t, "")
	b.got(stored(5, "1", "b.1", ""), nil)
	b.want()
	b.written(6, nil)
	b.last, _ = b.c.Done(b.now, json.RawMessage("2"), nil)
	b.last = b.c.Resume(b.now, nil)
	b.got(stored(6, "1", "b.1", b.c.claim), nil)
	if p := found[Put](b); string(p.Record.Value) != "2" {
		t.Errorf("%+v", p)
	}
	b.written(7, nil)
	found[Saved](b)
	b.last = b.c.Resume(b.now, nil)
	b.got(stored(8, "3", "b.2", ""), nil)
	if string(found[Changed](b).Value) != "3" {
		t.Error("the value is not reported")
	}
}

func FuzzDecode(f *testing.F) {
	r := Record{Value: json.RawMessage(`{"a":1}`), Version: "a.1", Claim: "b.1", Failure: "x"}
	raw, err := r.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(`{"version":"a","ended":5,"value":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Decode(b)
		if err != nil {
			return
		}
		if r.Ended != 0 && r.Value != nil {
			t.Fatalf("%q: an ended record has a value", b)
		}
		again, err := r.Encode()
		if err != nil {
			return // valid UTF-8 and spaces may make it larger
		}
		if _, err := Decode(again); err != nil {
			t.Fatalf("%q cannot be decoded again: %v", again, err)
		}
	})
}

// A record beyond the limits is refused.
func TestLimits(t *testing.T) {
	big := Record{Value: json.RawMessage(`"` + strings.Repeat("x", MaxRecord) + `"`), Version: "a"}
	if _, err := big.Encode(); err == nil {
		t.Error("a record of more than MaxRecord was encoded")
	}
	for _, text := range []string{"", "{}", `{"version":""}`, `{"version":"a","ended":-1}`, `{"version":"a","ended":1,"value":1}`, fmt.Sprintf(`{"version":%q}`, fmt.Sprintf("%065d", 0))} {
		if _, err := Decode([]byte(text)); err == nil {
			t.Errorf("%.40q was decoded", text)
		}
	}
	if _, err := Decode(make([]byte, MaxRecord+1)); !errors.Is(err, errTooLarge) {
		t.Errorf("%v", err)
	}
}
