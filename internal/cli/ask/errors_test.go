package ask

import (
	"errors"
	"strings"
	"testing"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/client"
)

// OVERLOADED has many causes; its hint fits the one that the message names.
func TestOverloadedHintFitsItsCause(t *testing.T) {
	for message, want := range map[string]string{
		"the audit log cannot be written, and no call may go without it (audit.required)": "audit log cannot be written",
		"too many calls in flight for this client (limits.maxInFlightPerClient)":          "limits.maxInFlightPerClient",
		"too many sessions, and all are in use (limits.maxSessions); try again later":     "limits.maxSessions",
		"the gateway's buffers are full (limits.maxBufferedBytes); nothing was sent":      "limits.maxBufferedBytes",
		"too many subscriptions in this session":                                          "cancel some subscriptions",
		"something else":                                                                  "try again later",
	} {
		err := failed(&client.RPCError{Code: -31010, Message: message, Data: []byte(`{"code":"OVERLOADED"}`)})
		if e, ok := errors.AsType[*command.Error](err); !ok || !strings.Contains(e.Hint, want) || strings.Contains(e.Hint, "of this client run") {
			t.Errorf("%s: hint %q, want one with %q", message, e.Hint, want)
		}
	}
}
