package clientcalls

import (
	"fmt"
	"testing"

	"goblin-actor/protocol"
)

// A parked call says in plain words what its client has not done.
func TestWaitsFor(t *testing.T) {
	many := ""
	for i := range 2000 {
		many += fmt.Sprintf(`,"f%d":{}`, i)
	}
	for _, c := range []struct{ method, params, want string }{
		{"elicitation/create", `{"message":"m","requestedSchema":{"type":"object","properties":{"a":{},"b":{},"c":{}}}}`, "its user has not answered a form of 3 fields"},
		{"elicitation/create", `{"mode":"form","message":"m","requestedSchema":{"properties":{"a":{}}}}`, "its user has not answered a form of 1 field"},
		{"elicitation/create", `{"message":"m","requestedSchema":7}`, "its user has not answered a form of 0 fields"},
		{"elicitation/create", `{"message":"m","requestedSchema":{"properties":{"a":{}` + many + `}}}`, "its user has not answered a form of more than 1000 fields"},
		{"elicitation/create", `{"mode":"url","message":"m","url":"https://a.example","elicitationId":"1"}`, "its user has not opened a page"},
		{"sampling/createMessage", `{"messages":[]}`, "its client has not answered a request for sampling"},
		{"roots/list", `{}`, "its client has not sent its roots"},
		{"new/question", `{}`, "its client has not answered a request of an unknown kind"},
	} {
		var f protocol.Frame
		if err := f.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"` + c.method + `","params":` + c.params + `}`)); err != nil {
			t.Fatal(err)
		}
		if got := WaitsFor(&f); got != c.want {
			t.Errorf("%s %.60s: got %q, want %q", c.method, c.params, got, c.want)
		}
	}
	for n, want := range []string{"its client's answer", "a", "a, and 1 more", "a, and 2 more"} {
		if got := joined([]string{"a", "b", "c"}[:n]); got != want {
			t.Errorf("%d server requests: got %q, want %q", n, got, want)
		}
	}
}
