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

// An authorization server that hangs keeps nobody who logs out: he is told what is done and what is not known yet, and the audit log and the log hear
// what has become of it.
func TestLogoutWhereTheAuthorizationServerHangs(t *testing.T) {
	for _, refuses := range []string{"", "server_error"} {
		g := newGuarded(t, newTeller(t).serve)
		path, set := audited(t, nil)
		var log written
		t.Run("refuses "+refuses, func(t *testing.T) {
			g.t = t
			w := g.serve("", func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) }, set)
			g.logIn(w, identity.Local, true)
			w.state("ready")
			waits := make(chan struct{})
			g.issuer.Set(func(f *authtest.Faults) { f.RevokeWaits, f.RevokeError = waits, refuses })
			ctx, giveUp := context.WithCancel(t.Context())
			told := make(chan error, 1)
			go func() { told <- w.gateway.Logout(ctx, login.Request{Server: "one", Catalog: true}) }()
			token := g.last()
			until := func(what string, is func() bool) {
				t.Helper()
				for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatalf("not within half a minute: %s", what)
					}
				}
			}
			until("the authorization server is asked", func() bool { return len(g.issuer.Seen("/revoke")) > 0 })
			w.state("needs-login")
			giveUp()
			if err := <-told; !errors.Is(err, login.ErrRevocationPending) {
				t.Errorf("told %v", err)
			}
			close(waits)
			if refuses == "" {
				g.forgets(token)
			} else {
				until("the log says that the login is still good there", func() bool { return strings.Contains(log.String(), "not revoked at the authorization server") })
			}
			until("the audit log has it", func() bool {
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
			t.Errorf("refuses %q: the audit log says %q, want %s", refuses, got, want)
		}
	}
}
