package monitoring

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// client sends requests to the gateway over HTTP.
type client struct {
	t   *testing.T
	url string
	ids atomic.Int64
}

// send sends a request or notification and returns the response and its body. session is "" for requests of 2026-07-28
// and for initialize.
func (c *client) send(ctx context.Context, session, version, method, params string) (*http.Response, string) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.ids.Add(1), method, params)
	if strings.HasPrefix(method, "notifications/") {
		body = fmt.Sprintf(`{"jsonrpc":"2.0","method":%q}`, method)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Error(err)
		return nil, ""
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", version)
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		if ctx.Err() == nil {
			c.t.Errorf("%s: %v", method, err)
		}
		return nil, ""
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp, string(text)
}

// session is a session of version 2025-11-25 with an open stream.
type session struct {
	*client
	id    string
	close func()
}

func (c *client) open() *session {
	resp, text := c.send(c.t.Context(), "", version, "initialize", `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"load","version":"1"}}`)
	if resp == nil || resp.Header.Get("Mcp-Session-Id") == "" {
		c.t.Fatalf("initialize: %s", text)
	}
	s := &session{client: c, id: resp.Header.Get("Mcp-Session-Id")}
	s.send(c.t.Context(), s.id, version, "notifications/initialized", "")
	ctx, cancel := context.WithCancel(c.t.Context())
	var stream sync.WaitGroup
	stream.Go(func() { s.listen(ctx) })
	s.close = func() { cancel(); stream.Wait() }
	return s
}

const version = "2025-11-25"

// listen reads notifications until the context ends.
func (s *session) listen(ctx context.Context) {
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Mcp-Session-Id", s.id)
	if resp, err := http.DefaultClient.Do(req); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
}

func (s *session) request(method, params string) string {
	_, text := s.send(s.t.Context(), s.id, version, method, params)
	return text
}

func (s *session) call(tool, arguments string) string {
	return s.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s,"_meta":{"progressToken":%d}}`, tool, arguments, s.ids.Add(1)))
}

// end closes the stream and deletes the session.
func (s *session) end() {
	s.close()
	req, _ := http.NewRequest(http.MethodDelete, s.url, nil)
	req.Header.Set("Mcp-Session-Id", s.id)
	if resp, err := http.DefaultClient.Do(req); err == nil {
		_ = resp.Body.Close()
	}
}

// generateLoad uses all servers that can start, for the given time. restart is called twice.
func generateLoad(t *testing.T, url string, took time.Duration, restart func()) {
	t.Helper()
	c := &client{t: t, url: url}
	end := time.Now().Add(took)
	var all sync.WaitGroup
	loop := func(pause time.Duration, do func()) {
		all.Go(func() {
			for time.Now().Before(end) && !t.Failed() {
				do()
				time.Sleep(pause)
			}
		})
	}
	steady := c.open()
	if list := steady.request("tools/list", "{}"); !strings.Contains(list, "flaky_now") {
		t.Fatalf("tools/list: %s", list)
	}
	steady.request("resources/subscribe", `{"uri":"resource://flaky/clock://now"}`)
	loop(40*time.Millisecond, func() { steady.call("notes_search_notes", `{"query":"welcome"}`) })
	loop(60*time.Millisecond, func() { steady.call("clock_now", `{}`) })
	loop(400*time.Millisecond, func() { steady.call("notes_edit_note", `{"slug":"missing","text":"x"}`) }) // an error of the tool
	loop(200*time.Millisecond, func() { steady.call("flaky_now", `{}`) })                                  // denied by the policy, which is in report mode
	loop(300*time.Millisecond, func() { steady.request("resources/read", `{"uri":"resource://flaky/clock://now"}`) })
	loop(200*time.Millisecond, func() { steady.request("prompts/list", `{}`) })
	for range 6 { // more than flaky's maxConcurrent
		loop(50*time.Millisecond, func() { steady.call("flaky_wait", `{"seconds":0.3,"steps":2}`) })
	}
	for range 3 {
		loop(200*time.Millisecond, func() { steady.call("flaky_wait", `{"seconds":3,"steps":1}`) }) // times out
	}
	loop(time.Second, func() {
		s := c.open()
		s.call("clock_wait", `{"seconds":0.5,"steps":5}`)
		s.end()
	})
	all.Go(func() {
		for range 2 { // the first restart only creates the counter, so Prometheus sees an increase only at the second one
			time.Sleep(took / 3)
			restart()
		}
	})
	all.Wait()
	steady.close()
}
