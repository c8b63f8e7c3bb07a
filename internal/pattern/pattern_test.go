package pattern

import "testing"

func TestLazy(t *testing.T) {
	word := Lazy(`^[a-z]+$`)
	first := word()
	if !first.MatchString("abc") || first.MatchString("1") || word() != first {
		t.Error("the expression does not match, or differs between calls")
	}
	defer func() {
		if recover() == nil {
			t.Error("an invalid expression does not panic")
		}
	}()
	Lazy(`(`)()
}
