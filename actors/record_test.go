package actors

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/status"
)

// The recording of a server has the messages about a call of a session that began later, but no argument. Its beginning and
// its end are in the audit log.
func TestRecordServer(t *testing.T) {
	path, set := withAuditLog(t, nil)
	t.Run("while it runs", func(t *testing.T) {
		w := startHTTP(t, map[string]*actortest.Server{"one": {Tools: []string{"add"}}}, set)
		if err := w.gateway.Act(t.Context(), status.Action{Verb: status.Record, Server: "one", Seconds: 1}); err != nil {
			t.Fatal(err)
		}
		session := w.open("/mcp")
		for range 2 {
			w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_add","arguments":{"secret":"hush"}}}`, "Mcp-Session-Id", session)
		}
		snapshot, err := w.gateway.Status(t.Context())
		if err != nil || snapshot.Servers[0].Recorded.IsZero() {
			t.Errorf("the server is not being recorded: %+v, %v", snapshot, err)
		}
		var all []status.Recording
		for began := time.Now(); len(all) == 0 || !all[0].Ended; time.Sleep(10 * time.Millisecond) {
			if all, err = w.gateway.Records(t.Context(), status.RecordQuery{Call: "session/" + session[:8] + "/2"}); err != nil || time.Since(began) > 10*time.Second {
				t.Fatalf("the recording does not end: %+v, %v", all, err)
			}
		}
		kinds := map[string]int{} // of actors with messages about the second call
		var newest uint64
		for _, r := range all {
			if len(r.Messages) > 0 {
				kinds[strings.Split(strings.TrimPrefix(r.Actor, "gateway/"), "/")[0]]++
				newest = max(newest, r.Messages[len(r.Messages)-1].Number)
			}
		}
		if kinds["pool"] != 2 || kinds["session"] != 1 { // the pool and its connection
			t.Errorf("recorders with messages: %v", kinds)
		}
		whole, _ := w.gateway.Records(t.Context(), status.RecordQuery{})
		if page, _ := json.Marshal([]any{whole, snapshot}); strings.Contains(string(page), "hush") {
			t.Errorf("a page has an argument: %s", page)
		}
		later, _ := w.gateway.Records(t.Context(), status.RecordQuery{Call: "session/" + session[:8] + "/2", After: newest})
		for _, r := range later {
			if len(r.Messages) > 0 {
				t.Errorf("messages after the newest: %+v", r)
			}
		}
	})
	events := strings.Join(auditEvents(auditLines(t, path)), "\n")
	for _, want := range []string{"admin local record one ok", "admin local record ended one ok"} {
		if !strings.Contains(events, want) {
			t.Errorf("the audit log has no %q:\n%s", want, events)
		}
	}
}
