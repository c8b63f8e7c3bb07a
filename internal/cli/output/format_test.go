package output

import (
	"strings"
	"testing"
)

// JSON from outside keeps its content when it is printed, but cannot control the terminal.
func TestRawIsHarmless(t *testing.T) {
	value := []byte("{\"a\":\"\u009b31m\\u001b[0m \u202e\",\"num\":12345678901234567890.10}")
	for f, want := range map[Format]string{
		JSON: "{\n  \"a\": \"\\u009b31m\\u001b[0m \\u202e\",\n  \"num\": 12345678901234567890.10\n}\n",
		YAML: "a: \"\\u009b31m\\u001b[0m \\u202e\"\nnum: 12345678901234567890.10\n",
	} {
		var b strings.Builder
		if err := f.Write(&b, value); err != nil || b.String() != want {
			t.Errorf("%s: %q, %v, want %q", f, b.String(), err, want)
		}
	}
}
