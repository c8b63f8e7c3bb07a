package pool

import (
	"fmt"
	"strings"
	"testing"

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
