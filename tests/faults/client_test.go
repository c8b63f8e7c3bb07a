//go:build linux

package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/gatetest"
)

// client is an HTTP client without an SDK. connect gives it a legacy session.
type client struct {
	g       *gateway
	session string
	http    *http.Client

	headersMore http.Header // sent with each request
}

// answer is the response to one request.
type answer struct {
	status  int
	kind    string // content type
	frames  []string
	session string
	after   string // Retry-After
}

// remove deletes the session.
func (c *client) remove(t testing.TB) {
	t.Helper()
	r, err := http.NewRequest(http.MethodDelete, c.g.url, nil)
	if err != nil {
		t.Error(err)
		return
	}
	r.Header.Set("Mcp-Session-Id", c.session)
	resp, err := c.http.Do(r)
	if err != nil {
		t.Errorf("DELETE: %v", err)
		return
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		t.Errorf("DELETE: %s", resp.Status)
	}
}

// send sends a POST. The caller reads and closes the body.
func (c *client) send(body string) (*http.Response, error) {
	r, err := http.NewRequest("POST", c.g.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	c.headers(r)
	return c.http.Do(r)
}

func (c *client) headers(r *http.Request) {
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	for key, values := range c.headersMore {
		r.Header[key] = values
	}
}

// last returns the last frame.
func (a answer) last() string {
	if len(a.frames) == 0 {
		return ""
	}
	return a.frames[len(a.frames)-1]
}

// fault returns code and data.code of an error.
func (a answer) fault() (int, string) {
	var r struct {
		Error struct {
			Code int
			Data struct{ Code string }
		}
	}
	_ = json.Unmarshal([]byte(a.last()), &r)
	return r.Error.Code, r.Error.Data.Code
}

func (a answer) String() string {
	return fmt.Sprintf("%d %s %.600q", a.status, a.kind, strings.Join(a.frames, "\n"))
}

// connect initializes a session. With capabilities "" the client has none.
func connect(t testing.TB, g *gateway, capabilities string) *client {
	t.Helper()
	return connectVersion(t, g, "2025-06-18", capabilities)
}

func connectVersion(t testing.TB, g *gateway, version, capabilities string) *client {
	t.Helper()
	connections := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}}
	t.Cleanup(connections.CloseIdleConnections)
	return connectWith(t, g, connections, version, capabilities)
}

func connectWith(t testing.TB, g *gateway, connections *http.Client, version, capabilities string) *client {
	t.Helper()
	if capabilities == "" {
		capabilities = "{}"
	}
	c := &client{g: g, http: connections}
	a := c.post(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+version+`","capabilities":`+capabilities+`,"clientInfo":{"name":"t","version":"1"}}}`)
	if a.status != 200 || a.session == "" {
		t.Fatalf("initialize: %s", a)
	}
	c.session = a.session
	if a := c.post(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); a.status != 202 {
		t.Fatalf("initialized: %s", a)
	}
	return c
}

func (c *client) post(t testing.TB, body string) answer {
	t.Helper()
	a, err := c.try(context.Background(), strings.NewReader(body), nil)
	if err != nil {
		t.Errorf("POST %.200s: %v", body, err)
	}
	return a
}

// try sends a POST and reads the complete response. It calls frame, if not nil, for each frame as it arrives.
func (c *client) try(ctx context.Context, body io.Reader, frame func(string)) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, gatetest.Patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", c.g.url, body)
	if err != nil {
		return answer{}, err
	}
	c.headers(r)
	resp, err := c.http.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, kind: resp.Header.Get("Content-Type"), session: resp.Header.Get("Mcp-Session-Id"), after: resp.Header.Get("Retry-After")}
	if !strings.HasPrefix(a.kind, "text/event-stream") {
		text, err := io.ReadAll(resp.Body)
		a.frames = []string{string(text)}
		return a, err
	}
	err = events(resp.Body, func(text string) {
		a.frames = append(a.frames, text)
		if frame != nil {
			frame(text)
		}
	})
	return a, err
}

// events reads an event stream and passes on the data of each event.
func events(body io.Reader, frame func(string)) error {
	in := bufio.NewReaderSize(body, 1<<16)
	for {
		line, err := in.ReadString('\n')
		if data, found := strings.CutPrefix(line, "data:"); found && strings.TrimSpace(data) != "" {
			frame(strings.TrimSpace(data))
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// call calls the server's tool echo with the action do and its parameter n.
func (c *client) call(t testing.TB, server, do string, n int) answer {
	t.Helper()
	return c.post(t, callFrame(7, server, do, n))
}

func callFrame(id int, server, do string, n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s_echo","arguments":{"do":%q,"n":%d}}}`, id, server, do, n)
}

// healthyTime limits the duration of an undisturbed call: it is less than the timeouts of the gateway,
// and more than a busy machine needs.
const healthyTime = 20 * time.Second

// works checks that a healthy call succeeds.
func (c *client) works(t testing.TB, server string) {
	t.Helper()
	if a := c.call(t, server, "", 0); !strings.Contains(a.last(), `"done"`) {
		t.Errorf("a healthy call of %s: %s", server, a)
	}
}

// wants checks that the answer is the given gateway error.
func (a answer) wants(t testing.TB, what string, code int, name string) {
	t.Helper()
	if gotCode, gotName := a.fault(); gotCode != code || gotName != name {
		t.Errorf("%s: got %s, want %d %s", what, a, code, name)
	}
}
