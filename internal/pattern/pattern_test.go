package pattern

import "testing"

func TestLazy(t *testing.T) {
	word := Lazy(`^[a-z]+$`)
	if !word().MatchString("abc") || word().MatchString("1") || word() != word() {
		t.Error("it is not the expression, or not the same one each time")
	}
	defer func() {
		if recover() == nil {
			t.Error("an expression that is none does not panic")
		}
	}()
	Lazy(`(`)()
}
