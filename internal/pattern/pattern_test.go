package pattern

import "testing"

func TestLazy(t *testing.T) {
	word := Lazy(`^[a-z]+$`)
	first := word()
	if !first.MatchString("abc") || first.MatchString("1") || word() != first {
		t.Error("it is not the expression, or not the same one each time")
	}
	defer func() {
		if recover() == nil {
			t.Error("an expression that is none does not panic")
		}
	}()
	Lazy(`(`)()
}
