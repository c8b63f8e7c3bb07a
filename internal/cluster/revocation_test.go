package cluster

import (
	"fmt"
	"slices"
	"testing"
)

// Of two revocations of a holder, the same one counts on all nodes, whichever arrives first.
func TestWhichRevocationCounts(t *testing.T) {
	list := []Revocation{{"a", 1, true, 0}, {"a", 1, false, 0}, {"a", 2, true, 0}, {"a", 2, false, 0}, {"a", 3, true, 0}}
	for i := range list {
		for j := range list {
			if got := list[i].Overrides(&list[j]); got != (i > j) {
				t.Errorf("%+v overrides %+v: %v", list[i], list[j], got)
			}
		}
	}
}

// The pages of a list contain all of it once.
func TestPages(t *testing.T) {
	for n := range 3*MaxRevocations + 2 {
		var list, got []Revocation
		for i := range n {
			list = append(list, Revocation{Holder: fmt.Sprintf("key:%04d", i), Number: 1})
		}
		for page, more := Page(list, ""); ; page, more = Page(list, page[len(page)-1].Holder) {
			got = append(got, page...)
			if !more {
				break
			}
		}
		if !slices.Equal(got, list) {
			t.Fatalf("%d revocations, and %d in the pages", n, len(got))
		}
	}
	if page, more := Page([]Revocation{{Holder: "b"}, {Holder: "d"}}, "c"); more || len(page) != 1 || page[0].Holder != "d" {
		t.Errorf("after a holder that is not in the list: %v", page)
	}
}
