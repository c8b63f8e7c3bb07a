//go:build linux

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

const elicits = `{"elicitation":{}}`

// question returns the raw id of a server request, or "" for other frames.
func question(frame string) string {
	var q struct {
		ID     json.RawMessage
		Method string
	}
	if json.Unmarshal([]byte(frame), &q) != nil || q.Method == "" {
		return ""
	}
	return string(q.ID)
}

// asked starts a call whose server sends a request to the client. It returns the request's id and a channel with the call's answer.
func (c *client) asked(t *testing.T, ctx context.Context) (id string, done <-chan answer) {
	t.Helper()
	ids, answers := make(chan string, 10), make(chan answer, 1)
	go func() {
		a, _ := c.try(ctx, strings.NewReader(callFrame(1, "good", "ask", 0)), func(frame string) {
			if id := question(frame); id != "" {
				ids <- id
			}
		})
		answers <- a
	}()
	select {
	case id := <-ids:
		return id, answers
	case a := <-answers:
		t.Fatalf("no server request, but %s", a)
	}
	return "", nil
}

func reply(id, name string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":%q}}}`, id, name)
}

// Answers with a wrong id or from another session do not reach the server. If the right answer is sent twice, only the first one counts.
func TestUnexpectedAnswers(t *testing.T) {
	t.Parallel()
	g := serve(t, servers(map[string]any{"good": with(bad("none"), map[string]any{"isolation": "leased", "maxBackends": 4})}))
	g.ready(t, "good")
	thief, victim := connect(t, g, elicits), connect(t, g, elicits)
	id, done := victim.asked(t, t.Context())
	for _, guess := range []string{id, `"1"`, `1`, `"q1"`, `"m0"`, `-1`, `9007199254740993`, `"` + strings.Repeat("x", 10_000) + `"`} {
		if a := thief.post(t, reply(guess, "thief")); a.status != 202 {
			t.Errorf("answer from another session: got %s, want 202", a)
		}
		if guess != id {
			victim.post(t, reply(guess, "wrong"))
		}
	}
	victim.post(t, `{"jsonrpc":"2.0","id":`+id+`}`) // not a valid message
	select {
	case a := <-done:
		t.Fatalf("the call ended with an answer that is wrong or from another session: %s", a)
	case <-time.After(100 * time.Millisecond):
	}
	for _, name := range []string{"victim", "again"} {
		if a := victim.post(t, reply(id, name)); a.status != 202 {
			t.Errorf("the answer %q: got %s, want 202", name, a)
		}
	}
	if a := <-done; !strings.Contains(a.last(), "victim") {
		t.Errorf("the call did not get the first answer, victim: %s", a)
	}
	for _, c := range []*client{thief, victim} {
		c.works(t, "good")
	}
	if b := g.server(t, "good"); b.Incarnation != 1 {
		t.Errorf("the server was restarted: %+v", b)
	}
}

// Clients disconnect during a call or a server request, and their sessions are deleted. Afterwards no call is in flight, and the server
// can be called again.
func TestClientsThatVanish(t *testing.T) {
	t.Parallel()
	g := serve(t, servers(map[string]any{"good": with(bad("none"), map[string]any{"maxConcurrent": 4})}))
	g.ready(t, "good")
	for round := range 5 {
		for range 4 {
			c := connect(t, g, elicits)
			ctx, cancel := context.WithCancel(t.Context())
			if round%2 == 0 {
				_, done := c.asked(t, ctx)
				cancel()
				<-done
			} else {
				go func() { _, _ = c.try(ctx, strings.NewReader(callFrame(1, "good", "never", 0)), nil) }()
				waitFor(t, "the call to run", func() (bool, string) { n := g.server(t, "good").InFlight; return n > 0, fmt.Sprint(n) })
				cancel()
			}
			c.remove(t)
			if a := c.post(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); a.status != 404 {
				t.Errorf("deleted session: %s", a)
			}
		}
	}
	waitFor(t, "nothing to be in flight", func() (bool, string) {
		n := g.server(t, "good").InFlight
		return n == 0, fmt.Sprint(n)
	})
	connect(t, g, "").works(t, "good")
}

// Guessed, truncated, modified and joined session ids get 404; a missing one gets 400.
func TestForgedSessions(t *testing.T) {
	t.Parallel()
	g := serve(t, servers(map[string]any{"good": bad("none")}))
	g.ready(t, "good")
	c, other := connect(t, g, ""), connect(t, g, "")
	changed := []byte(c.session)
	changed[len(changed)-1] ^= 1
	for _, id := range []string{"", "x", strings.Repeat("a", 5000), c.session + "x", c.session[1:], strings.ToUpper(c.session), string(changed), "\u00e9", c.session + "," + other.session, "../" + c.session} {
		forged := &client{g: g, http: c.http, session: id}
		want := 404
		if id == "" {
			want = 400
		}
		if a := forged.post(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); a.status != want {
			t.Errorf("session %.40q: %s, want %d", id, a, want)
		}
	}
	c.works(t, "good")
	other.works(t, "good")
}

// stream opens a GET stream of a session. lastEvent is the Last-Event-ID; "" = none.
func (c *client) stream(t *testing.T, lastEvent string) (*http.Response, func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.g.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Mcp-Session-Id", c.session)
	if lastEvent != "" {
		r.Header.Set("Last-Event-ID", lastEvent)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return resp, func() {
		cancel()
		_ = resp.Body.Close()
	}
}

// Events of another session's stream are not replayed, whatever Last-Event-ID a client sends.
func TestAnotherSessionsEvents(t *testing.T) {
	t.Parallel()
	g := serve(t, servers(map[string]any{"good": bad("none")}))
	g.ready(t, "good")
	victim, thief := connectVersion(t, g, "2025-11-25", elicits), connectVersion(t, g, "2025-11-25", elicits)
	resp, err := victim.send(callFrame(1, "good", "notify", 10))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for line := range strings.Lines(string(text)) {
		if id, found := strings.CutPrefix(line, "id:"); found {
			ids = append(ids, strings.TrimSpace(id))
		}
	}
	if len(ids) < 2 {
		t.Fatalf("the answer has no event ids: %.500s", text)
	}
	for _, id := range append(ids[:2], "0", "-1", strings.Repeat("9", 5000), "x/y", "\u00e9") {
		resp, leave := thief.stream(t, id)
		got := make(chan string, 1)
		go func() {
			b := make([]byte, 1<<16)
			n, _ := io.ReadAtLeast(resp.Body, b, 200)
			got <- string(b[:n])
		}()
		select {
		case text := <-got:
			if strings.Contains(text, `"notifications/message"`) || strings.Contains(text, `"done"`) {
				t.Errorf("Last-Event-ID %.40q: status %d, another session's events: %.500s", id, resp.StatusCode, text)
			}
		case <-time.After(200 * time.Millisecond):
		}
		leave()
	}
	thief.works(t, "good")
}

// Some clients do not read their streams. A call of another client takes at most healthyTime, and the gateway uses at most 400 MiB of memory.
func TestClientsThatReadSlowly(t *testing.T) {
	t.Parallel()
	s := servers(map[string]any{"good": bad("none"), "changes": bad("changes")})
	g := serve(t, s)
	g.ready(t, "good", "changes")
	for range 20 {
		c := connect(t, g, elicits)
		conn, err := net.Dial("tcp", g.host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		head := "Host: " + g.host + "\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\nMcp-Session-Id: " + c.session + "\r\n"
		_, _ = io.WriteString(conn, "GET /mcp HTTP/1.1\r\n"+head+"\r\n")
		for _, body := range []string{callFrame(1, "good", "notify", 3000), callFrame(2, "good", "big", 4<<20)} {
			conn, err := net.Dial("tcp", g.host)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
			fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s", head, len(body), body)
		}
	}
	healthy := connect(t, g, "")
	for range 50 {
		began := time.Now()
		healthy.works(t, "good")
		if took := time.Since(began); took > healthyTime {
			t.Errorf("a healthy call took %s", took)
		}
	}
	g.fits(t, 400<<20)
}
