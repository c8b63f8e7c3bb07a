package stateless

import (
	"fmt"
	"strings"
	"testing"

	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

func questionFrame(t *testing.T, params string) *protocol.Frame {
	t.Helper()
	f := actortest.Frame(t, `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":`+params+`}`)
	return &f
}

// A server's key is used once in a call, and only if it is valid and cannot be confused with one of the gateway's.
func TestQuestionKeys(t *testing.T) {
	v := &heldCall{}
	hint := func(key string) string { return fmt.Sprintf(`{"_meta":{"goblin-actor/key":%q}}`, key) }
	for _, c := range []struct{ params, want string }{
		{`{}`, "q1"},
		{hint("user_name"), "user_name"},
		{hint("user_name"), "q2"},
		{hint("q7"), "q3"},
		{hint("queue.1-a"), "queue.1-a"},
		{hint("q"), "q"},
		{hint(""), "q4"},
		{hint("a b"), "q5"},
		{hint(strings.Repeat("a", maxKey)), strings.Repeat("a", maxKey)},
		{hint(strings.Repeat("a", maxKey+1)), "q6"},
		{`{"_meta":{"goblin-actor/key":7}}`, "q7"},
	} {
		if got, named := v.keyFor(questionFrame(t, c.params)); got != c.want || named != (c.want[0] != 'q' || len(c.want) == 1 || c.want == "queue.1-a") {
			t.Errorf("%s: %q, %v, want %q", c.params, got, named, c.want)
		}
	}
	for i := range 2 * maxKeys {
		v.keyFor(questionFrame(t, hint(fmt.Sprintf("k%d", i))))
	}
	if len(v.serverKeys) != maxKeys {
		t.Errorf("%d keys are kept", len(v.serverKeys))
	}
}

// An answer in the client's first request is used for the server request with that key, if it is valid.
func TestEarlyAnswers(t *testing.T) {
	for params, want := range map[string]string{
		`{"inputResponses":{"k":{"action":"decline"}}}`:                    `{"action":"decline"}`,
		`{"inputResponses":{"k":{"action":"odd"}}}`:                        "",
		`{"inputResponses":{"other":{"action":"decline"}}}`:                "",
		`{"inputResponses":{"k":{"action":"decline"}},"requestState":"s"}`: "",
		`{}`: "",
	} {
		x := &downstream.Exchange{}
		x.Frame, x.Params = actortest.Request(t, string(questionFrame(t, params).Raw))
		v := &heldCall{exchanges: []*downstream.Exchange{x}}
		if got := string(v.earlyAnswer("k", protocol.InputForm)); got != want {
			t.Errorf("%s: %q, want %q", params, got, want)
		}
		v.round = 1
		if got := v.earlyAnswer("k", protocol.InputForm); got != nil {
			t.Errorf("%s: %q in a later round", params, got)
		}
	}
}
