package bench

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"goblin-actor/protocol"
)

// What a modern client of the bench sends is right in headers and body, so that no error is measured as a call.
func TestModernCall(t *testing.T) {
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(newModernCall("h:1", "/mcp", "slegacy_echo").next())))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var f protocol.Frame
	var p protocol.Params
	if err := f.Parse(body); err != nil {
		t.Fatal(err)
	}
	if err := p.Scan(&f); err != nil {
		t.Fatal(err)
	}
	if fault := protocol.CheckModern(r.Header.Get, &f, &p); fault != nil {
		t.Errorf("%s\n%s: %+v", r.Header, body, fault)
	}
}

// A modern server of the bench knows no sessions, and its results say what they are.
func TestModernServer(t *testing.T) {
	s := newRawServer(ServerOptions{Modern: true})
	for method, want := range map[string]string{
		"server/discover": `"supportedVersions":["2026-07-28"]`,
		"tools/list":      `"resultType":"complete"`,
		"tools/call":      `"resultType":"complete","content"`,
		"initialize":      `-32601`,
	} {
		_, tail, err := s.answer([]byte(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"name":"echo"}}`), nil)
		if err != nil || !strings.Contains(string(tail), want) {
			t.Errorf("%s: %s, %v; want %s", method, tail, err, want)
		}
	}
}
