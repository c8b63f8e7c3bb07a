package message

import (
	"strings"
	"testing"
)

// Capabilities that the gateway only passes on stay unchanged. Invalid and too large ones are left out.
func TestExtras(t *testing.T) {
	const tasks = `{"io.modelcontextprotocol/tasks":{}}`
	large := strings.Repeat("x", maxExtras)
	tests := []struct{ said, base, want, withTasks string }{
		{``, `{}`, `{}`, `{"extensions":` + tasks + `}`},
		{`{"roots":{}}`, `{"roots":{}}`, `{"roots":{}}`, `{"extensions":` + tasks + `,"roots":{}}`},
		{`{"experimental":{"a":{"b":1}}}`, `{}`, `{"experimental":{"a":{"b":1}}}`, `{"experimental":{"a":{"b":1}},"extensions":` + tasks + `}`},
		{`{"extensions":{"io.modelcontextprotocol/tasks":{},"v/x":{}},"experimental":{}}`, `{"roots":{}}`, `{"extensions":{"v/x":{}},"roots":{}}`,
			`{"extensions":{"io.modelcontextprotocol/tasks":{},"v/x":{}},"roots":{}}`},
		{`{"experimental":7}`, `{}`, `{}`, `{"extensions":` + tasks + `}`},
		{`{"experimental":{"a":"` + large + `"},"extensions":{"v/x":{}}}`, `{}`, `{"extensions":{"v/x":{}}}`, `{"extensions":{"io.modelcontextprotocol/tasks":{},"v/x":{}}}`},
	}
	for _, test := range tests {
		base := []byte(test.base)
		e := ExtrasOf([]byte(test.said))
		if got := string(e.With(base, false)); got != test.want {
			t.Errorf("%.80s: got %s, want %s", test.said, got, test.want)
		}
		if got := string(e.With(base, true)); got != test.withTasks {
			t.Errorf("%.80s, tasks: got %s, want %s", test.said, got, test.withTasks)
		}
		if string(base) != test.base {
			t.Errorf("%s was modified: %s", test.base, base)
		}
	}
}
