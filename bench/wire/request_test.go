package wire

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"goblin-actor/protocol"
)

// Each of these wrong responses is an error, which ends a run.
func TestCheckRejectsWrongResponses(t *testing.T) {
	r := NewRequest("h", "/mcp", "s", LegacyVersion, "tools/call", "{}")
	r.Next()
	tail := []byte(`,"result":{}}`)
	good := ResponseHead + "100000001" + string(tail)
	ok := &Conn{Status: 200}
	if err := r.Check(ok, []byte(good), tail); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		w    Conn
		body string
	}{
		"status":    {Conn{Status: 500}, good},
		"SSE":       {Conn{Status: 200, EventStream: true}, good},
		"id":        {Conn{Status: 200}, ResponseHead + "100000002" + string(tail)},
		"cut short": {Conn{Status: 200}, good[:len(good)-1]},
		"changed":   {Conn{Status: 200}, strings.Replace(good, "{}", "[]", 1)},
	} {
		if r.Check(&c.w, []byte(c.body), tail) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// The requests of modern clients are valid, so that no error responses are measured.
func TestModernCall(t *testing.T) {
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(NewModernCall("h:1", "/mcp", "slegacy_echo").Next())))
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
