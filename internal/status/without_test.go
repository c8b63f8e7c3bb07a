package status

import (
	"reflect"
	"strings"
	"testing"
)

func TestWithout(t *testing.T) {
	type inner struct {
		Text   string
		hidden string
	}
	type outer struct {
		A    string
		List []inner
		At   *inner
		Map  map[string]string
		N    int
		Raw  []byte
	}
	known := func(s string) string { return strings.ReplaceAll(s, "secret", "***") }
	of := func() *outer {
		return &outer{"a secret", []inner{{"x", "secret"}, {"secret", "y"}}, &inner{"my secret", ""}, map[string]string{"k": "secret", "l": "m"}, 7, []byte("secret")}
	}
	was := of()
	want := &outer{"a ***", []inner{{"x", "secret"}, {"***", "y"}}, &inner{"my ***", ""}, map[string]string{"k": "***", "l": "m"}, 7, []byte("secret")}
	if got := without(was, known); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if !reflect.DeepEqual(was, of()) {
		t.Errorf("the original was modified: %+v", was)
	}
	if plain := (&outer{A: "nothing"}); without(plain, known) != plain || without(was, nil) != was || without[*outer](nil, known) != nil {
		t.Error("a value without secrets was copied")
	}
}
