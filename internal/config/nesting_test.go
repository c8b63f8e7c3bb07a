package config

import (
	"errors"
	"testing"
)

func TestNesting(t *testing.T) {
	for _, c := range []struct {
		value string
		want  int
		ok    bool
	}{{"", 0, true}, {"x", 0, true}, {"-5", 0, true}, {"1", 1, true}, {"3", 3, true}, {"4", 4, false}, {"400", 400, false}} {
		getenv := func(name string) string {
			if name != NestingVariable {
				t.Errorf("looked up the variable %s", name)
			}
			return c.value
		}
		if got, err := Nesting(getenv), CheckNesting(getenv); got != c.want || (err == nil) != c.ok || !c.ok && !errors.Is(err, ErrNested) {
			t.Errorf("%q: %d, %v, want %d, fine %v", c.value, got, err, c.want, c.ok)
		}
	}
}
