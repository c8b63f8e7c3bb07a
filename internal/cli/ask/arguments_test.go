package ask

import (
	"errors"
	"testing"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/form"
)

// Arguments that the schema rejects are usage errors with a hint.
func TestInvalidArgumentsAreUsageErrors(t *testing.T) {
	s, err := form.ParseSchema([]byte(`{"properties":{"n":{"type":"integer"}},"required":["n"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ key, value, want, hint string }{
		{"n", "x", `argument "n": want integer, got "x"`, "n=… (integer)"},
		{"m", "1", `tool has no argument "m"`, "did you mean n?"},
	} {
		_, err := arguments(s, "tool", []command.Pair{{Key: c.key, Value: c.value}})
		e, ok := errors.AsType[*command.Error](err)
		if !ok || e.Code != command.ExitUsage || e.Error() != c.want || e.Hint != c.hint {
			t.Errorf("%s=%s: %v with the hint %q, want %s with the hint %q", c.key, c.value, err, e.Hint, c.want, c.hint)
		}
	}
	if raw, err := arguments(s, "tool", []command.Pair{{Key: "n", Value: "1"}}); string(raw) != `{"n":1}` || err != nil {
		t.Errorf("got %s, %v", raw, err)
	}
}
