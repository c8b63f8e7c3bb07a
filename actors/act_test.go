package actors

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/gatetest"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream/pipe"
)

// An action that was aimed at connections, a call or a session does not hit their successors. What has not changed since is hit.
func TestAimedActions(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"add"}, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}} // never answers
		h := startStdio(t, map[string]*actortest.Server{"one": server, "two": {Refuse: errors.New("no such program")}}, nil)
		defer h.close()
		h.initialize()
		h.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_add","arguments":{}}}`)
		s, err := h.gateway.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		restart, failing := s.Aimed(status.Action{Verb: status.Restart, Server: "one"}), s.Aimed(status.Action{Verb: status.Restart, Server: "two"})
		cancel := s.Aimed(status.Action{Verb: status.Cancel, Call: s.Calls[0].ID})
		act := func(a status.Action, want error, words string) {
			t.Helper()
			if err := h.gateway.Act(t.Context(), a); !errors.Is(err, want) || err != nil && !strings.Contains(err.Error(), words) {
				t.Errorf("%s: %v, want %v: …%s…", a.Verb, err, want, words)
			}
			time.Sleep(time.Second)
		}
		other := cancel
		other.Aim += "0" // an earlier call of the same name
		act(other, status.ErrRestarted, "has restarted since; look at it again")
		act(cancel, nil, "")
		act(cancel, status.ErrNotThere, "cancel call")
		act(restart, nil, "")
		if n := server.Opened(); n != 2 {
			t.Fatalf("%d connections after a restart, want 2", n)
		}
		act(restart, status.ErrRestarted, "server one has restarted since; look at it again")
		if n := server.Opened(); n != 2 {
			t.Errorf("%d connections after a second restart with the first aim, want 2", n)
		}
		time.Sleep(10 * time.Minute) // server two is tried again, without success
		act(failing, nil, "")
		act(failing, status.ErrRestarted, "server two")
		end := s.Aimed(status.Action{Verb: status.End, Session: s.Sessions[0].ID})
		act(end, status.ErrBadAction, "end the client instead")
		end.Session = "missing1"
		act(end, status.ErrNotThere, "end session")
	})(t)
}

// Two operators who restart a server at once restart it once.
func TestTwoRestartsAtOnce(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"add"}}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		s, err := h.gateway.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		results := make(chan error, 2)
		for range 2 {
			go func() {
				results <- h.gateway.Act(t.Context(), s.Aimed(status.Action{Verb: status.Restart, Server: "one"}))
			}()
		}
		both := []error{<-results, <-results}
		if time.Sleep(time.Second); server.Opened() != 2 || !slices.Contains(both, nil) || !errors.Is(errors.Join(both...), status.ErrRestarted) {
			t.Errorf("%d connections, results %v; want one restart", server.Opened(), both)
		}
	})(t)
}

// The audit log names what an action was about. An action with a member of another verb is refused.
func TestRecordsOfActions(t *testing.T) {
	path, set := withAuditLog(t, nil)
	t.Run("while it runs", func(t *testing.T) {
		g := startHTTP(t, map[string]*actortest.Server{"one": {Tools: []string{"add"}}}, set).gateway
		for _, c := range []struct {
			a    status.Action
			want error
		}{
			{status.Action{Verb: status.End, Session: "aaaaaaaa"}, status.ErrNotThere},
			{status.Action{Verb: status.End, Session: "aaaaaaaa", Call: "b"}, status.ErrBadAction},
			{status.Action{Verb: status.Cancel, Call: "a/1", Server: "two"}, status.ErrBadAction},
			{status.Action{Verb: status.Restart, Server: "one", Stop: true}, status.ErrBadAction},
			{status.Action{Verb: status.Restart, Server: "one"}, nil},
			{status.Action{Verb: status.Drain, Aim: "another"}, status.ErrRestarted},
			{status.Action{Verb: status.Drain}, status.ErrUnknownVerb}, // status.Local does it
		} {
			if err := g.Act(t.Context(), c.a); !errors.Is(err, c.want) {
				t.Errorf("%+v: %v, want %v", c.a, err, c.want)
			}
		}
	})
	var got []string
	for _, e := range auditEvents(auditLines(t, path)) {
		if strings.HasPrefix(e, "admin") {
			got = append(got, strings.TrimPrefix(e, "admin local "))
		}
	}
	want := []string{"end aaaaaaaa failed", "end aaaaaaaa failed", "cancel a/1 failed", "restart one failed", "restart one ok", "drain failed"}
	if !slices.Equal(got, want) {
		t.Errorf("audit log: %q\nwant %q", got, want)
	}
}

// An operator ends a session: its calls fail, its client must begin a new one, and the audit log says so.
func TestEndSession(t *testing.T) {
	path, set := withAuditLog(t, nil)
	t.Run("while it runs", func(t *testing.T) {
		w := startHTTP(t, map[string]*actortest.Server{"one": {Tools: []string{"add"}, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}}}, set)
		session := w.open("/mcp")
		answered := make(chan string, 1)
		go func() {
			answered <- w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_add","arguments":{}}}`, "Mcp-Session-Id", session).body
		}()
		var s *status.Snapshot
		for deadline := time.Now().Add(gatetest.Patience); s == nil || len(s.Calls) == 0; {
			var err error
			if s, err = w.gateway.Status(t.Context()); err != nil || len(s.Sessions) != 1 || time.Now().After(deadline) {
				t.Fatalf("%+v, %v; want one session with a call", s, err)
			}
		}
		end := s.Aimed(status.Action{Verb: status.End, Session: s.Sessions[0].ID})
		earlier := end
		earlier.Aim += "0"
		if err := w.gateway.Act(t.Context(), earlier); !errors.Is(err, status.ErrRestarted) {
			t.Errorf("an earlier session of that name: %v", err)
		}
		if err := w.gateway.Act(t.Context(), end); err != nil {
			t.Fatal(err)
		}
		if body := <-answered; !strings.Contains(body, "an operator of the gateway ended the session") {
			t.Errorf("the call was answered %s", body)
		}
		if got := w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":3,"method":"ping"}`, "Mcp-Session-Id", session); got.status != 404 {
			t.Errorf("a request of the ended session: %+v, want status 404", got)
		}
		if err := w.gateway.Act(t.Context(), end); !errors.Is(err, status.ErrNotThere) {
			t.Errorf("ended twice: %v", err)
		}
	})
	ends := 0
	for _, l := range auditLines(t, path) {
		if l.Event == audit.EventAdmin && l.Method == "end" && l.Item != "" && l.Outcome == "ok" {
			ends++
		}
	}
	if ends != 1 {
		t.Errorf("%d successful ends in the audit log, want 1", ends)
	}
}
