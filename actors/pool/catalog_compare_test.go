package pool

import (
	"testing"

	"goblin-actor/actors/message"
	"goblin-actor/internal/fieldtest"
)

// sameCatalog compares every field except the age, since a changed catalog has to be stored.
func TestSameCatalogComparesEveryField(t *testing.T) {
	base := message.KnownCatalog{Info: &message.ServerInfo{Version: "1", Capabilities: []byte("1"), Info: []byte("1"), Instructions: "1"}}
	for kind := range base.Lists {
		base.Lists[kind] = message.KnownList{Items: [][]byte{[]byte("a"), []byte("b")}}
	}
	equal, info := base, *base.Info
	equal.Info = &info
	if !sameCatalog(&base, &equal) {
		t.Error("equal catalogs differ")
	}
	ignored := map[string]string{"At": "the caller compares the age with refreshAfter"}
	fieldtest.Noticed(t, base, ignored, func(_ string, changed message.KnownCatalog) bool {
		return !sameCatalog(&base, &changed) && !sameCatalog(&changed, &base)
	})
}

func TestSameList(t *testing.T) {
	bytes := func(items ...string) (list [][]byte) {
		for _, item := range items {
			list = append(list, []byte(item))
		}
		return list
	}
	shared := bytes("a", "b")
	for name, c := range map[string]struct {
		a, b [][]byte
		want bool
	}{
		"both empty":         {nil, nil, true},
		"nil and empty":      {nil, [][]byte{}, true},
		"one list":           {shared, shared, true},
		"equal":              {bytes("a", "b"), bytes("a", "b"), true},
		"a prefix in memory": {shared, shared[:1], false},
		"the last differs":   {bytes("a", "b"), bytes("a", "c"), false},
		"another order":      {bytes("a", "b"), bytes("b", "a"), false},
		"empty and not":      {nil, bytes("a"), false},
	} {
		if got := sameList(c.a, c.b); got != c.want {
			t.Errorf("sameList(%s) = %v, want %v", name, got, c.want)
		}
		if got := sameList(c.b, c.a); got != c.want {
			t.Errorf("sameList(%s, swapped) = %v, want %v", name, got, c.want)
		}
	}
}
