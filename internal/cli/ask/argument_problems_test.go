package ask

import (
	"encoding/json"
	"errors"
	"testing"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/client"
)

// If the arguments of a call are invalid, each problem becomes a hint. Its text comes from the gateway and is printed
// on one line.
func TestProblemsOfArgumentsAreHints(t *testing.T) {
	rpc := &client.RPCError{Code: -32602, Message: "the arguments do not fit", Data: json.RawMessage(`{"code":"INVALID_PARAMS","tool":"git_log",` +
		`"problems":[{"pointer":"/max_count","expected":"want integer, found a string"},{"pointer":"","expected":"want 1 or\nmore members, found 0"}]}`)}
	failure, ok := errors.AsType[*command.Error](failed(rpc))
	const want = "correct /max_count: want integer, found a string\ncorrect the arguments: want 1 or more members, found 0\nrun \"goblin-actor describe git_log\" to see the tool's arguments"
	if !ok || failure.Hint != want {
		t.Errorf("got %+v, want the hint %q", failure, want)
	}
	for _, data := range []string{``, `null`, `{"code":"INVALID_PARAMS"}`, `{"code":"INVALID_PARAMS","problems":7}`, `{"problems":[{}]}`} {
		if got := problemsOf(&client.RPCError{Code: -32602, Data: json.RawMessage(data)}); got != "" {
			t.Errorf("%s: %q", data, got)
		}
	}
}
