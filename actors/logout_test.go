package actors

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/audit"
	"goblin-actor/internal/authtest"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/login"
)

// A hung authorization server does not block a logout. The caller learns that the revocation is pending, and the log and the
// audit log get its result.
func TestLogoutWithHungAuthorizationServer(t *testing.T) {
	for _, refuses := range []string{"", "server_error"} {
		g := newOAuthServer(t, newHeaderServer(t).serve)
		path, set := withAuditLog(t, nil)
		var log logBuffer
		t.Run("error "+refuses, func(t *testing.T) {
			g.t = t
			w := g.start("", func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) }, set)
			g.logIn(w, identity.Local, true)
			w.waitServerState("ready")
			waits := make(chan struct{})
			g.issuer.Set(func(f *authtest.Faults) { f.RevokeWaits, f.RevokeError = waits, refuses })
			ctx, cancel := context.WithCancel(t.Context())
			result := make(chan error, 1)
			go func() { result <- w.gateway.Logout(ctx, login.Request{Server: "one", Catalog: true}) }()
			token := g.lastToken()
			until := func(what string, is func() bool) {
				t.Helper()
				for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatalf("did not happen within 30 s: %s", what)
					}
				}
			}
			until("the authorization server gets the revocation", func() bool { return len(g.issuer.Seen("/revoke")) > 0 })
			w.waitServerState("needs-login")
			cancel()
			if err := <-result; !errors.Is(err, login.ErrRevocationPending) {
				t.Errorf("Logout returned %v", err)
			}
			close(waits)
			if refuses == "" {
				g.waitRevoked(token)
			} else {
				until("the log says that the revocation may have failed", func() bool { return strings.Contains(log.String(), "may not have revoked it") })
			}
			until("the audit log has the logout", func() bool {
				raw, err := os.ReadFile(path)
				return err == nil && bytes.Contains(raw, []byte(`"logout"`))
			})
		})
		want := "ok"
		if refuses != "" {
			want = "failed"
		}
		var got []string
		for _, line := range auditLines(t, path) {
			if line.Event == audit.EventLogout {
				got = append(got, line.Outcome)
			}
		}
		if len(got) != 1 || got[0] != want {
			t.Errorf("revocation error %q: the audit log has %q, want %s", refuses, got, want)
		}
	}
}
