package pool

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"goblin-actor/actors/message"
	"goblin-actor/internal/secret"
	"goblin-actor/protocol/upstream"
)

// A server's text is truncated in the middle of a secret. The first half of the secret must not remain.
func TestAttack82TruncatedSecret(t *testing.T) {
	const key = "ghp_hunter2hunter2hunter2hunter2hunter2"
	var known secret.Redactor
	known.Replace("configuration", key)
	long := strings.Repeat("x", 190) + key
	for _, e := range []upstream.Event{
		upstream.Stderr{Line: long[:210]}, upstream.Closed{Stderr: []string{long[:210]}}, upstream.Noise{Line: []byte(long[:210])},
		upstream.Ended{Err: &upstream.StatusError{Code: 401, Body: []byte(long)}}, upstream.NotSent{Err: &upstream.StatusError{Code: 500, Body: []byte(long)}},
	} {
		if got := fmt.Sprintf("%+v %q", redactEvent(&known, e), redactEvent(&known, e)); strings.Contains(got, key[:secret.Shortest]) || strings.Contains(got, "ghp_hun") {
			t.Errorf("%T: %s", e, got)
		}
	}
}

// Secrets are removed both from the events of a connection and from the messages of backends, so that a secret is
// hidden even if one of the two misses it.
func TestSecretsAreRemovedTwice(t *testing.T) {
	known := new(secret.Redactor)
	known.Replace("test", "hunter2-hunter2")
	const text = "password hunter2-hunter2 is wrong"
	p := &pool{Options: Options{Secrets: known}}
	for _, msg := range []any{message.BackendChanged{Reason: text}, message.BackendChanged{LastLine: text}, message.LoginChanged{Reason: text}, message.NotExecuted{Reason: text}} {
		if got := fmt.Sprintf("%+v", p.redact(msg)); strings.Contains(got, "hunter2") || !strings.Contains(got, "is wrong") {
			t.Errorf("%T became %s", msg, got)
		}
	}
	var got []upstream.Event
	open := p.redactEvents(func(sink upstream.Sink) upstream.Link {
		_ = sink(t.Context(), upstream.Stderr{Line: text})
		return nil
	})
	open(func(_ context.Context, e upstream.Event) error {
		got = append(got, e)
		return nil
	})
	if line := got[0].(upstream.Stderr).Line; strings.Contains(line, "hunter2") || !strings.Contains(line, "is wrong") {
		t.Errorf("the line became %q", line)
	}
}
