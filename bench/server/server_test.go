package server

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// The stdio server answers requests in order, one per line, and ignores notifications.
func TestServeStdio(t *testing.T) {
	in := strings.NewReader(`{"jsonrpc":"2.0","id":"a","method":"ping"}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo"}}
{"jsonrpc":"2.0","id":8,"method":"no/such"}
`)
	var out bytes.Buffer
	if err := ServeStdio(in, &out, Options{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || lines[0] != `{"jsonrpc":"2.0","id":"a","result":{}}` ||
		!strings.HasPrefix(lines[1], `{"jsonrpc":"2.0","id":7,"result":{"content"`) || !strings.Contains(lines[2], "-32601") {
		t.Errorf("got\n%s", out.String())
	}
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

// A modern raw server has no sessions, and its results have a resultType.
func TestModernServer(t *testing.T) {
	s := newRawServer(Options{Modern: true})
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
