package team

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// person is a user with a key and optionally a session. It is safe for concurrent use once it has the session.
type person struct {
	t       *testing.T
	key     string
	session string
	modern  bool // sends 2026-07-28 requests without a session
	url     string
	client  *http.Client
	ids     atomic.Int64
}

func (p *place) person(key string) *person {
	return &person{t: p.t, key: key, url: p.gate.URL, client: p.client()}
}

// message is one message of a response.
type message struct {
	ID     json.RawMessage
	Method string
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// answer is the response to one request.
type answer struct {
	status   int
	header   http.Header
	body     string
	messages []message // from the body, which is a document or a stream
}

// final returns the message that answers the request with this id. There must be exactly one.
func (a *answer) final(id int64) (*message, error) {
	var found *message
	for i, m := range a.messages {
		switch {
		case m.Method != "":
		case string(m.ID) != fmt.Sprint(id):
			return nil, fmt.Errorf("an answer to %s came to request %d: %d %s", m.ID, id, a.status, a.body)
		case found != nil:
			return nil, fmt.Errorf("request %d was answered twice", id)
		default:
			found = &a.messages[i]
		}
	}
	if found == nil {
		return nil, fmt.Errorf("request %d got status %d without a message of its own: %s", id, a.status, a.body)
	}
	return found, nil
}

// send sends a request with the user's key and session.
func (p *person) send(method, body string, header map[string]string) (*answer, error) {
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if p.key != "" {
		r.Header.Set("Authorization", "Bearer "+p.key)
	}
	if p.session != "" {
		r.Header.Set("Mcp-Session-Id", p.session)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	resp, err := p.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return read(resp, string(raw))
}

func read(resp *http.Response, body string) (*answer, error) {
	a := &answer{status: resp.StatusCode, header: resp.Header, body: body}
	texts := []string{body}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		texts = nil
		for text := range strings.Lines(body) {
			if data, ok := strings.CutPrefix(text, "data:"); ok {
				texts = append(texts, data)
			}
		}
	}
	for _, text := range texts {
		if strings.TrimSpace(text) == "" {
			continue
		}
		var m message
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			return nil, fmt.Errorf("the response contains invalid JSON: %w: %s", err, text)
		}
		a.messages = append(a.messages, m)
	}
	return a, nil
}

const meta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}`

// ask sends an MCP request and returns its id and the answer. members are members of params.
func (p *person) ask(method, name, members string) (int64, *answer, error) {
	id := p.ids.Add(1)
	if !p.modern {
		a, err := p.send(http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s"_meta":{"progressToken":%d}}}`, id, method, members, id), nil)
		return id, a, err
	}
	header := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method}
	if name != "" {
		header["Mcp-Name"] = name
	}
	a, err := p.send(http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s"_meta":{"progressToken":%d,%s}}}`, id, method, members, id, meta), header)
	return id, a, err
}

// call calls a tool. The message is nil if the request was refused before its id was read.
func (p *person) call(tool, arguments string) (*message, *answer, error) {
	id, a, err := p.ask("tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":%s,`, tool, arguments))
	if err != nil {
		return nil, nil, err
	}
	if a.status == http.StatusUnauthorized && len(a.messages) == 1 && (a.messages[0].ID == nil || string(a.messages[0].ID) == "null") {
		return nil, a, nil
	}
	m, err := a.final(id)
	return m, a, err
}

// says calls a tool and requires its text to contain want.
func (p *person) says(tool, arguments, want string) *answer {
	p.t.Helper()
	m, a, err := p.call(tool, arguments)
	if err == nil && m == nil {
		err = errors.New("refused: " + a.body)
	}
	if err != nil {
		p.t.Fatalf("%s: %v", tool, err)
	}
	if !strings.Contains(string(m.Result), want) {
		p.t.Fatalf("%s: %s, want %s in it", tool, a.body, want)
	}
	return a
}

// tools returns the tools that the user sees.
func (p *person) tools() []string {
	p.t.Helper()
	id, a, err := p.ask("tools/list", "", "")
	if err != nil {
		p.t.Fatal(err)
	}
	m, err := a.final(id)
	if err != nil {
		p.t.Fatal(err)
	}
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(m.Result, &list); err != nil {
		p.t.Fatalf("tools/list: %v: %s", err, a.body)
	}
	names := []string{}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// begin opens a session of 2025-11-25.
func (p *person) begin() {
	p.t.Helper()
	a, err := p.send(http.MethodPost, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if p.session = a.header.Get("Mcp-Session-Id"); a.status != http.StatusOK || p.session == "" {
		p.t.Fatalf("initialize: %d %s", a.status, a.body)
	}
	if _, err := p.send(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil); err != nil {
		p.t.Fatal(err)
	}
}
