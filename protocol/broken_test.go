package protocol

import (
	"strings"
	"testing"
)

func TestBrokenAnswerID(t *testing.T) {
	long := strings.Repeat("x", 1000)
	deep := strings.Repeat("[", 600) + strings.Repeat("]", 600)
	for _, c := range []struct{ name, text, want string }{
		{"not UTF-8", `{"jsonrpc":"2.0","id":7,"result":{"text":"` + "\xff" + `"}}`, "7"},
		{"too deep", `{"jsonrpc":"2.0","id":7,"result":` + deep + `}`, "7"},
		{"id last", `{"result":{"text":"` + "\xff" + `"},"jsonrpc":"2.0","id":7}`, "7"},
		{"id last but one", `{"result":{"text":"` + "\xff" + `"}, "id" : 7 , "jsonrpc" : "2.0" }`, "7"},
		{"in quotes", `{"jsonrpc":"2.0","id":"7","result":` + deep + `}`, `"7"`},
		{"error is a string", `{"jsonrpc":"2.0","id":7,"error":"it broke"}`, "7"},
		{"both", `{"jsonrpc":"2.0","id":7,"result":{},"error":{}}`, "7"},
		{"neither", `{"jsonrpc":"2.0","id":7}`, "7"},
		{"cut off", `{"jsonrpc":"2.0","id":7,"result":{"text":"` + long, "7"},
		{"the first of two", `{"jsonrpc":"2.0","id":7,"id":8,"result":{}}`, "7"},
		{"a request", `{"jsonrpc":"2.0","id":7,"method":"ping","params":5}`, ""},
		{"maybe a request", `{"jsonrpc":"2.0","id":7,"par` + "\xff", ""},
		{"cut off before it shows what it is", `{"jsonrpc":"2.0","id":7`, ""},
		{"an id inside, not its own", `{"jsonrpc":"2.0","method":"x","params":{"id":7}`, ""},
		{"an id inside the result", `{"result":{"text":"` + "\xff" + `","id":7}`, "7"}, // the outer brace is missing, so this looks like the response's own id
		{"an id inside the result, closed", `{"result":{"text":"` + "\xff" + `","id":7}}`, ""},
		{"no id", `{"jsonrpc":"2.0","result":{}}`, ""},
		{"null", `{"jsonrpc":"2.0","id":null,"result":{}}`, ""},
		{"an object", `{"jsonrpc":"2.0","id":{},"result":{}}`, ""},
		{"no object", `[1,2`, ""},
		{"nothing", ``, ""},
		{"a log line", `{level: info}`, ""},
	} {
		if got := string(BrokenAnswerID([]byte(c.text), []byte(c.text))); got != c.want {
			t.Errorf("%s: BrokenAnswerID(%.80q) = %q, want %q", c.name, c.text, got, c.want)
		}
	}
	head, tail := `{"result":{"text":"`+long, `xxx"},"jsonrpc":"2.0","id":7}`
	if got := string(BrokenAnswerID([]byte(head), []byte(tail))); got != "7" {
		t.Errorf("head and tail of a long one: %q", got)
	}
}

func TestBrokenRequestID(t *testing.T) {
	long := strings.Repeat("x", 1000)
	deep := strings.Repeat("[", 600) + strings.Repeat("]", 600)
	for _, c := range []struct{ name, head, tail, want string }{
		{"too deep", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":` + deep + `}}`, `]]}}`, "7"},
		{"too deep, id last", `{"method":"tools/call","params":{"a":` + deep + `},"jsonrpc":"2.0","id":"a"}`, `]]},"jsonrpc":"2.0","id":"a"}`, `"a"`},
		{"cut off", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"text":"` + long, long, "7"},
		{"cut off, method first", `{"jsonrpc":"2.0","method":"tools/call","id":7,"params":{"text":"` + long, long, "7"},
		{"cut off, id last", `{"method":"tools/call","params":{"text":"` + long, long + `"}},"jsonrpc":"2.0","id":7}`, "7"},
		{"cut off in the method", `{"jsonrpc":"2.0","id":7,"method":"` + long, long + `"}`, "7"},
		{"a notification", `{"jsonrpc":"2.0","method":"x","params":{"text":"` + long, `","id":7}}`, ""},
		{"an answer", `{"jsonrpc":"2.0","id":7,"result":{"text":"` + long, `"}}`, ""},
		{"cut off before it shows what it is", `{"jsonrpc":"2.0","id":7,"params":{"text":"` + long, `"}}`, ""},
		{"an id of an invalid type", `{"jsonrpc":"2.0","id":{},"method":"x","params":"` + long, `"}}`, ""},
		{"no object", `[` + deep, `]`, ""},
		{"nothing", ``, ``, ""},
	} {
		if got := string(BrokenRequestID([]byte(c.head), []byte(c.tail))); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// For any bytes, an id that is found is valid.
func FuzzBrokenAnswerID(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":7,"result":{"text":"`, `"id":7}`)
	f.Add(`{"result":[`, `"id":"x","jsonrpc":"2.0"}`)
	f.Fuzz(func(t *testing.T, head, tail string) {
		if id := BrokenAnswerID([]byte(head), []byte(tail)); id != nil && (!validID(id) || Valid(id) != nil) {
			t.Errorf("BrokenAnswerID(%q, %q) = %q", head, tail, id)
		}
		if id := BrokenRequestID([]byte(head), []byte(tail)); id != nil && (!validID(id) || Valid(id) != nil) {
			t.Errorf("BrokenRequestID(%q, %q) = %q", head, tail, id)
		}
	})
}
