package audit

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestEqualDenialsAreAggregated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := Open(settings(path), options(t))
	if err != nil {
		t.Fatal(err)
	}
	deny := func(peer string) {
		l.Record(Record{Event: EventDenied, Peer: peer, Decision: Deny, Outcome: "UNAUTHENTICATED"})
	}
	for range 1000 {
		deny("10.0.0.1")
	}
	for i := range 1000 { // one /64: a client can use any of its addresses
		deny("[2001:db8::" + strings.TrimLeft(string("0123456789abcdef"[i%16]), "0") + "1]")
	}
	for i := range 5000 {
		deny("10.1." + string(rune('0'+i/1000)) + "." + string(rune('0'+i%1000/100)) + string(rune('0'+i%100/10)) + string(rune('0'+i%10)))
	}
	closed(t, l)
	lines, sum := countOf(t, path, EventDenied)
	if lines > 2*maxDenials+2 || uint64(lines)+sum < 7000 || sum > 7000 {
		t.Errorf("got %d lines with counts of %d; want few lines, and 7000 denials in total", lines, sum)
	}
	if r := verified(t, path, Trust{}); r.Fault != nil {
		t.Error(r.Fault)
	}
}

// Denials from many addresses must not hide a denial of a principal.
func TestFloodOfDenialsHidesNoPrincipal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := Open(settings(path), options(t))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 * maxDenials {
		l.Record(Record{Event: EventDenied, Peer: fmt.Sprintf("2001:db8:0:%x::1", i), Decision: Deny, Outcome: "UNAUTHENTICATED"})
	}
	l.Record(Record{Event: EventDenied, Who: "key:eve", Peer: "2001:db8:0:1::1", Decision: Deny, Outcome: "SESSION_OF_ANOTHER"})
	closed(t, l)
	found, _, err := Newest(path, Filter{Who: "eve"}, 10)
	if err != nil || len(found) != 1 || found[0].Outcome != "SESSION_OF_ANOTHER" {
		t.Errorf("got %v, %v, want the line about eve", found, err)
	}
}
