package pool

import (
	"reflect"
	"testing"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// sameCatalog compares every field except the age, since a changed catalog has to be stored.
func TestSameCatalogComparesEveryField(t *testing.T) {
	sample := func() *message.KnownCatalog {
		c := &message.KnownCatalog{Info: &message.ServerInfo{Version: "1", Capabilities: []byte("1"), Info: []byte("1"), Instructions: "1"}}
		for kind := range c.Lists {
			c.Lists[kind] = message.KnownList{Items: [][]byte{[]byte("a"), []byte("b")}}
		}
		return c
	}
	if other := sample(); !sameCatalog(sample(), other) {
		t.Error("equal catalogs differ")
	}
	older := sample()
	older.At = time.Unix(1, 0)
	if !sameCatalog(sample(), older) {
		t.Error("catalogs of different age differ")
	}
	info := reflect.TypeFor[message.ServerInfo]()
	for i := range info.NumField() {
		changed := sample()
		change(t, reflect.ValueOf(changed.Info).Elem().Field(i))
		if sameCatalog(sample(), changed) || sameCatalog(changed, sample()) {
			t.Errorf("ServerInfo.%s is not compared", info.Field(i).Name)
		}
	}
	list := reflect.TypeFor[message.KnownList]()
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		for i := range list.NumField() {
			changed := sample()
			change(t, reflect.ValueOf(&changed.Lists[kind]).Elem().Field(i))
			if sameCatalog(sample(), changed) || sameCatalog(changed, sample()) {
				t.Errorf("KnownList.%s of %s is not compared", list.Field(i).Name, kind)
			}
		}
	}
}

// change sets a field to another value.
func change(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(append([]byte("x"), v.Bytes()...))
			return
		}
		last := v.Index(v.Len() - 1)
		last.Set(reflect.ValueOf([]byte("x")))
	default:
		t.Fatalf("a field of kind %s: extend this test", v.Kind())
	}
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
