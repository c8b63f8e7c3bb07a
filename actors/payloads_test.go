package actors

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/secret"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream/pipe"
)

// keeping is a gateway that keeps the payloads of its server one.
type keeping struct {
	*httpHarness
	session string
	last    int
}

func keepPayloads(t *testing.T, set func(*config.Config)) *keeping {
	t.Helper()
	handle := func(p *pipe.Peer, f protocol.Frame, id []byte) {
		answer := `"result":{"content":[{"type":"text","text":"it is \u0068unter2hunter2"}],"structuredContent":{"token":"opensesame","n":1}}`
		switch {
		case strings.Contains(string(f.Raw), "must log in"):
			answer = `"error":{"code":-32042,"message":"open https://login.example/?ticket=opensesame","data":{"elicitations":[]}}`
		case strings.Contains(string(f.Raw), "large"):
			answer = `"result":{"content":[{"type":"text","text":"` + strings.Repeat("large ", 10_000) + `"}]}`
		case strings.Contains(string(f.Raw), "progressToken"):
			meta := rawjson.Member(f.Raw, f.Params, "_meta")
			token := rawjson.Member(f.Raw, meta, "progressToken").Of(f.Raw)
			for i := range 3 {
				p.Send([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"message":"so far hunter2hunter2"}}`, token, i+1)))
			}
		}
		if strings.Contains(string(f.Raw), "hang") {
			return
		}
		p.Send([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, id, answer)))
	}
	w := startHTTP(t, map[string]*actortest.Server{"one": {Tools: []string{"add", "get_token"}, Handle: handle}, "two": {Tools: []string{"add"}}}, set)
	w.gateway.payloads.secrets = &secret.Redactor{}
	w.gateway.payloads.secrets.Add("hunter2hunter2")
	k := &keeping{w, w.open("/mcp"), 1}
	return k
}

func (k *keeping) act(a status.Action) error {
	a.Verb = status.Payloads
	return k.gateway.Act(k.t.Context(), a)
}

func (k *keeping) call(tool, arguments string) {
	k.last++
	k.do("POST", "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, k.last, tool, arguments), "Mcp-Session-Id", k.session)
}

// kept returns what is kept of all calls, with their texts.
func (k *keeping) kept() (calls []status.CallPayload) {
	k.t.Helper()
	all, err := k.gateway.Payloads(k.t.Context(), status.PayloadQuery{})
	if err != nil {
		k.t.Fatal(err)
	}
	for _, server := range all {
		for _, c := range server.Payloads {
			if c.Request.Text != "" || c.Answer.Text != "" {
				k.t.Error("the list has texts")
			}
			one, err := k.gateway.Payloads(k.t.Context(), status.PayloadQuery{Call: c.Call})
			if err != nil || len(one) != 1 || len(one[0].Payloads) != 1 {
				k.t.Fatalf("payloads of %s: %v %v", c.Call, one, err)
			}
			calls = append(calls, one[0].Payloads[0])
		}
	}
	return calls
}

// wait returns what is kept once that is n calls, all of which have ended, or after ten seconds. A question to the actor that keeps the payloads may overtake
// the payloads of a call that was answered before.
func (k *keeping) wait(n int) (calls []status.CallPayload) {
	k.t.Helper()
	for range 1000 {
		calls = k.kept()
		if len(calls) == n && !slices.ContainsFunc(calls, func(c status.CallPayload) bool { return c.Ended.IsZero() }) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return calls
}

// Payloads are kept only if an operator asks. Known secrets, and values whose names suggest secrets, are redacted. Answers that
// request a login are withheld, and so are the payloads of tools whose names suggest secrets.
func TestPayloadsAreKept(t *testing.T) {
	path, set := withAuditLog(t, nil)
	t.Run("while it runs", func(t *testing.T) {
		k := keepPayloads(t, set)
		k.call("one_add", `{"early":true}`)
		if err := k.act(status.Action{Server: "one"}); err != nil {
			t.Fatal(err)
		}
		k.call("one_add", `{"path":"/n","password":"opensesame","hush":"\u0068unter2hunter2"}`)
		k.call("two_add", `{"other":true}`)
		k.call("one_add", `{"must log in":1}`)
		k.call("one_get_token", `{"of":"opensesame"}`)
		k.call("one_add", `{"large":1}`)
		calls := k.wait(4)
		raw, err := json.Marshal(calls)
		if err != nil || len(calls) != 4 {
			t.Fatalf("%d calls are kept: %s", len(calls), raw)
		}
		for _, not := range []string{"opensesame", "unter2", "early", "other", "login.example"} {
			if strings.Contains(string(raw), not) {
				t.Errorf("kept with %q: %s", not, raw)
			}
		}
		first := calls[0]
		if first.Request.Text != `{"name": "one_add", "arguments": {"path": "/n", "password": "[redacted]", "hush": "[redacted]"}}` ||
			first.Answer.Text != `{"content": [{"type": "text", "text": "it is [redacted]"}], "structuredContent": {"token": "[redacted]", "n": 1}}` ||
			first.Request.Shape != `{name: string 7 B, arguments: {path: string 2 B, password: string 10 B, hush: string 14 B}}` || first.Ended.IsZero() {
			t.Errorf("the first call: %+v", first)
		}
		if c := calls[1]; c.Withheld != withheldAnswer || c.Answer.Bytes < 90 || c.Answer.Text+c.Answer.Shape != "" || c.Request.Text == "" {
			t.Errorf("the login: %+v", c)
		}
		if c := calls[2]; c.Withheld != withheldItem || c.Request.Text+c.Answer.Text != "" {
			t.Errorf("the tool get_token: %+v", c)
		}
		if c := calls[3]; !c.Answer.Cut || c.Answer.Bytes < 60_000 || len(c.Answer.Text) > status.MaxPayloadBytes+64 || !strings.HasSuffix(c.Answer.Text, "large …") {
			t.Errorf("the large answer: %d bytes, %d shown", c.Answer.Bytes, len(c.Answer.Text))
		}
		s, err := k.gateway.Status(t.Context())
		if err != nil || len(s.Keeping) != 1 || s.Keeping[0].Server != "one" || s.Keeping[0].Calls != 4 {
			t.Errorf("status: %v, %v", s, err)
		}
		if err := k.act(status.Action{Server: "one", Stop: true}); err != nil || len(k.kept()) != 0 {
			t.Errorf("stop: %v", err)
		}
		if err := k.act(status.Action{Server: "two"}); err != nil { // ends with the gateway
			t.Error(err)
		}
	})
	var acts []string
	for _, e := range auditEvents(auditLines(t, path)) {
		if strings.HasPrefix(e, "admin") {
			acts = append(acts, e)
		}
	}
	want := []string{"admin local payloads one ok", "admin local payloads ended one ok", "admin local stop payloads one ok", "admin local payloads two ok", "admin local payloads ended two ok"}
	if !slices.Equal(acts, want) {
		t.Errorf("audit log:\n%s\nwant:\n%s", strings.Join(acts, "\n"), strings.Join(want, "\n"))
	}
}

// Each call of a batch is kept with its own request and answer, a streamed answer without the progress before it, and a canceled call
// without an answer. Secrets are hidden in all of them.
func TestPayloadsOfBatchesStreamsAndCanceledCalls(t *testing.T) {
	k := keepPayloads(t, nil)
	if err := k.act(status.Action{Server: "one"}); err != nil {
		t.Fatal(err)
	}
	call := func(id int, arguments, meta string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"one_add","arguments":%s%s}}`, id, arguments, meta)
	}
	old := k.do("POST", "/mcp", strings.Replace(initializeFrame, "2025-11-25", "2025-03-26", 1)).session
	batch := k.do("POST", "/mcp", `[`+call(2, `{"n":1,"password":"opensesame"}`, "")+`,{"jsonrpc":"2.0","id":3,"method":"ping"},`+call(4, `{"n":2,"hush":"hunter2hunter2"}`, "")+`]`, "Mcp-Session-Id", old)
	if batch.status != 200 || strings.Count(batch.body, "opensesame") != 2 {
		t.Fatalf("the batch: %d %s", batch.status, batch.body)
	}
	const token = `,"_meta":{"progressToken":"p"}`
	s, _ := k.post("/mcp", call(5, `{"n":3}`, token), "Mcp-Session-Id", k.session)
	var streamed []string
	for data := s.data(); data != ""; data = s.data() {
		streamed = append(streamed, data)
	}
	if n := len(streamed); n < 2 || !strings.Contains(streamed[0], "so far hunter2hunter2") || !strings.Contains(streamed[n-1], "opensesame") {
		t.Fatalf("the client of the stream received %q", streamed)
	}
	canceled, _ := k.post("/mcp", call(6, `{"n":4,"apiKey":"opensesame","hang":true}`, token), "Mcp-Session-Id", k.session)
	k.do("POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6}}`, "Mcp-Session-Id", k.session)
	for canceled.data() != "" {
	}
	calls := k.wait(4)
	raw, err := json.Marshal(calls)
	if err != nil || len(calls) != 4 {
		t.Fatalf("%d calls are kept: %s", len(calls), raw)
	}
	for _, not := range []string{"opensesame", "unter2", "so far"} {
		if strings.Contains(string(raw), not) {
			t.Errorf("kept with %q: %s", not, raw)
		}
	}
	slices.SortFunc(calls[:2], func(a, b status.CallPayload) int { return strings.Compare(a.Request.Text, b.Request.Text) }) // the session may handle a batch in any order
	const answer = `{"content": [{"type": "text", "text": "it is [redacted]"}], "structuredContent": {"token": "[redacted]", "n": 1}}`
	for i, want := range []struct{ arguments, answer string }{
		{`{"n": 1, "password": "[redacted]"}`, answer}, {`{"n": 2, "hush": "[redacted]"}`, answer}, {`{"n": 3}`, answer}, {`{"n": 4, "apiKey": "[redacted]", "hang": true}`, ""},
	} {
		if c := calls[i]; !strings.HasPrefix(c.Request.Text, `{"name": "one_add", "arguments": `+want.arguments) || c.Answer.Text != want.answer || c.Ended.IsZero() || c.Withheld != "" {
			t.Errorf("call %d: %+v, want %+v", i, c, want)
		}
	}
}

// The result of a task is withheld, because the request for it does not name the tool.
func TestPayloadsOfTasksAreWithheld(t *testing.T) {
	inBubble(func(t *testing.T) {
		h := startStdio(t, map[string]*actortest.Server{"two": taskServer()}, nil)
		defer h.close()
		h.waitReady()
		h.roundTrip(initializeRequest(protocol.Version20251125))
		h.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		if err := h.gateway.Act(t.Context(), status.Action{Verb: status.Payloads, Server: "two"}); err != nil {
			t.Fatal(err)
		}
		h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"two_dig","arguments":{},"task":{"ttl":1000},"_meta":{"progressToken":"p"}}}`)
		h.send(`{"jsonrpc":"2.0","id":3,"method":"tasks/get","params":{"taskId":"two/7"}}`)
		all, err := h.gateway.Payloads(t.Context(), status.PayloadQuery{})
		if err != nil || len(all) != 1 || len(all[0].Payloads) != 2 {
			t.Fatalf("kept: %+v, %v", all, err)
		}
		if c := all[0].Payloads[1]; c.Method != "tasks/get" || c.Withheld != withheldTask || c.Answer.Bytes == 0 || c.Answer.Shape != "" || c.Request.Shape == "" {
			t.Errorf("tasks/get: %+v", c)
		}
	})(t)
}

// A long URI is cut off. Its call is withheld, because the rest may suggest secrets.
func TestPayloadOfLongItemIsWithheld(t *testing.T) {
	var g Gateway
	if c := g.shownPayload(&message.CallPayload{Item: status.Printable("file:///"+strings.Repeat("a", 2000)+"/token", 1024)}, true); c.Withheld != withheldItem || len(c.Item) > 1100 {
		t.Errorf("%+v", c)
	}
}

// A reload that removes a secret discards all payloads, and so does the next reload, after which the secret is no longer known. A
// reload that removes a server discards the server's payloads.
func TestReloadDiscardsPayloads(t *testing.T) {
	k := keepPayloads(t, nil)
	reload := func(when string, servers []string, secrets []string, want int) {
		t.Helper()
		if err := k.act(status.Action{Server: "one"}); err != nil {
			t.Fatal(err)
		}
		k.call("one_add", `{}`)
		next := config.Default()
		next.MetaTools, next.Secrets = "false", secrets
		for _, name := range servers {
			server := config.DefaultServer()
			server.Name, server.Written, server.Command = name, name, "fake"
			next.Servers = append(next.Servers, server)
		}
		if err := k.gateway.Apply(t.Context(), &next); err != nil {
			t.Fatal(err)
		}
		for range 1000 { // until the message about the reload has arrived
			if len(k.gateway.payloads.gate.Keeping()) == want {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if kept := k.wait(want); len(kept) != want {
			t.Errorf("%s: kept %+v", when, kept)
		}
		if want > 0 {
			if err := k.act(status.Action{Server: "one", Stop: true}); err != nil {
				t.Error(err)
			}
		}
	}
	both := []string{"one", "two"}
	reload("a new secret", both, []string{"hunter2a"}, 1)
	reload("another server is removed", both[:1], []string{"hunter2a"}, 1)
	reload("a rotated secret", both, []string{"hunter2b"}, 0)
	reload("the next reload", both, []string{"hunter2b"}, 0)
	reload("one more reload", both, []string{"hunter2b"}, 1)
	reload("the server is removed", both[1:], []string{"hunter2b"}, 0)
}

// A reload that forbids payloads discards them, and the gateway refuses to keep more.
func TestReloadForbidsPayloads(t *testing.T) {
	k := keepPayloads(t, nil)
	for _, bad := range []struct {
		a    status.Action
		want error
	}{{status.Action{}, status.ErrBadAction}, {status.Action{Server: "none"}, status.ErrNotThere}, {status.Action{Server: "one", Stop: true}, status.ErrNotThere}} {
		if err := k.act(bad.a); !errors.Is(err, bad.want) {
			t.Errorf("%+v: %v", bad.a, err)
		}
	}
	if err := k.act(status.Action{Server: "one"}); err != nil {
		t.Fatal(err)
	}
	k.call("one_add", `{}`)
	next := config.Default()
	next.MetaTools = "false"
	next.Admin.Payloads = false
	server := config.DefaultServer()
	server.Name, server.Written, server.Command = "one", "one", "fake"
	next.Servers = []config.Server{server}
	if err := k.gateway.Apply(t.Context(), &next); err != nil {
		t.Fatal(err)
	}
	if kept := k.kept(); len(kept) != 0 {
		t.Errorf("kept: %+v", kept)
	}
	if err := k.act(status.Action{Server: "one"}); !errors.Is(err, status.ErrForbidden) {
		t.Errorf("after the reload: %v", err)
	}
}
