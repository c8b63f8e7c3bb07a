package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"goblin-actor/protocol/rawjson"
)

// Contract: the gateway's errors, with their codes for legacy and modern clients and their HTTP statuses.
func TestFaultCodes(t *testing.T) {
	cases := []struct {
		name           FaultName
		legacy, modern int
		status         int
	}{
		{"TOOL_NOT_FOUND", -32602, -32602, 200}, {"PROMPT_NOT_FOUND", -32602, -32602, 200},
		{"RESOURCE_NOT_FOUND", -32002, -32602, 200}, {"AMBIGUOUS_URI", -32602, -32602, 200},
		{"SERVER_UNAVAILABLE", -31001, -31001, 200}, {"NO_BACKENDS_AVAILABLE", -31002, -31002, 200},
		{"BACKEND_DISCONNECTED", -31003, -31003, 200}, {"QUEUE_FULL", -31004, -31004, 200}, {"QUEUE_TIMEOUT", -31005, -31005, 200},
		{"TIMEOUT", -31006, -31006, 200}, {"SHUTTING_DOWN", -31007, -31007, 200}, {"NEEDS_LOGIN", -31008, -31008, 200}, {"CANCELLED", -31009, -31009, 200},
		{"CLIENT_CANNOT_ANSWER", -32021, -32021, 400}, {"OVERLOADED", -31010, -31010, 200},
		{"REQUEST_STATE_INVALID", -32602, -32602, 200}, {"UNKNOWN_PROJECT", -32602, -32602, 200}, {"MESSAGE_TOO_LARGE", -32600, -32600, 413},
		{"HEADER_MISMATCH", -32020, -32020, 400}, {"UNSUPPORTED_PROTOCOL_VERSION", -32022, -32022, 400}, {"NODE_LOST", -31015, -31015, 200},
		{"PARSE_ERROR", -32700, -32700, 400}, {"INVALID_REQUEST", -32600, -32600, 400}, {"METHOD_NOT_FOUND", -32601, -32601, 200},
		{"INVALID_PARAMS", -32602, -32602, 200}, {"INTERNAL_ERROR", -32603, -32603, 200},
	}
	for _, c := range cases {
		f := &Fault{Name: c.name}
		if f.Code(EraLegacy) != c.legacy || f.Code(EraModern) != c.modern || f.HTTPStatus() != c.status {
			t.Errorf("%s: %d, %d, HTTP %d, want %d, %d, %d", c.name, f.Code(EraLegacy), f.Code(EraModern), f.HTTPStatus(), c.legacy, c.modern, c.status)
		}
		if c.name != InternalFault && f.Error() == "Internal error" {
			t.Errorf("%s has no message of its own", c.name)
		}
		if code := f.Code(EraModern); code <= -32000 && code >= -32099 && code != -32020 && code != -32021 && code != -32022 {
			t.Errorf("%s: %d must not be sent to modern clients", c.name, code) // X10
		}
	}
}

// S0.9.1, S2.5.2: messages and data byte for byte.
func TestFaultAppendTo(t *testing.T) {
	cases := []struct {
		fault  *Fault
		id     string
		modern bool
		want   string
	}{
		{NoTool(`a"b`), "7", false,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"Tool not found: a\"b","data":{"code":"TOOL_NOT_FOUND","server":null,"retryable":false,"tool":"a\"b"}}}`},
		{NoPrompt("p"), "7", false,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"Prompt not found: p","data":{"code":"PROMPT_NOT_FOUND","server":null,"retryable":false}}}`},
		{NoResource("x://y"), `"s"`, false,
			`{"jsonrpc":"2.0","id":"s","error":{"code":-32002,"message":"Resource not found: x://y","data":{"code":"RESOURCE_NOT_FOUND","server":null,"retryable":false,"uri":"x://y"}}}`},
		{NoResource("x://y"), `"s"`, true,
			`{"jsonrpc":"2.0","id":"s","error":{"code":-32602,"message":"Resource not found: x://y","data":{"code":"RESOURCE_NOT_FOUND","server":null,"retryable":false,"uri":"x://y"}}}`},
		{&Fault{Name: ServerUnavailable, Server: "files", Tool: "read", Retryable: true, RetryAfter: 1500*time.Millisecond + 1}, "1", false,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-31001,"message":"files is not connected","data":{"code":"SERVER_UNAVAILABLE","server":"files","retryable":true,"tool":"read","retryAfterMs":1501}}}`},
		{&Fault{Name: AmbiguousURI, Message: "m", URI: "u", Candidates: []string{"resource://a/u", "resource://b/u"}}, "1", false,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"m","data":{"code":"AMBIGUOUS_URI","server":null,"retryable":false,"uri":"u","candidates":["resource://a/u","resource://b/u"]}}}`},
		{&Fault{Name: NeedsLogin, Message: "m", Server: "gh", LoginURL: "https://l"}, "1", false,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-31008,"message":"m","data":{"code":"NEEDS_LOGIN","server":"gh","retryable":false,"loginUrl":"https://l"}}}`},
		{&Fault{Name: ClientCannotAnswer, Message: "m", Required: []byte(`{"sampling":{}}`)}, "1", true,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"m","data":{"code":"CLIENT_CANNOT_ANSWER","server":null,"retryable":false,"requiredCapabilities":{"sampling":{}}}}}`},
		{&Fault{Name: MessageTooLarge, Message: "m"}, "", true,
			`{"jsonrpc":"2.0","error":{"code":-32600,"message":"m","data":{"code":"MESSAGE_TOO_LARGE","server":null,"retryable":false}}}`},
		{&Fault{Name: ParseFault, Message: "m"}, "null", false,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m","data":{"code":"PARSE_ERROR","server":null,"retryable":false}}}`},
	}
	for _, c := range cases {
		var id []byte
		if c.id != "" {
			id = []byte(c.id)
		}
		got := c.fault.AppendTo(nil, id, eraIf(c.modern))
		if string(got) != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.fault.Name, got, c.want)
		}
		mustParse(t, string(got))
	}
	if (&Fault{Name: ToolNotFound, Tool: "x"}).Error() != NoTool("x").Error() || (&Fault{Name: ResourceNotFound, URI: "x"}).Error() != NoResource("x").Error() {
		t.Error("the standard messages differ from those of the constructors")
	}
	huge := strings.Repeat("é", 1<<20)
	if got := NoResource("x"+huge).AppendTo(nil, nil, EraLegacy); len(got) > 3*maxEcho || !strings.Contains(string(got), "é…\"") {
		t.Errorf("a huge URI is repeated in %d bytes", len(got))
	}
	if ms := milliseconds(1<<63 - 1); ms != (1<<63-1)/1_000_000 {
		t.Errorf("the longest time: %d ms", ms)
	}
}

func TestErrorCode(t *testing.T) {
	for err, want := range map[error]int{
		errors.New("x"):                                           -32603,
		fmt.Errorf("call: %w", NoResource("x")):                   -32002,
		fmt.Errorf("read: %w", fault(ErrSyntax, 3, "x")):          -32700,
		fmt.Errorf("read: %w", fault(ErrDuplicate, 3, "x")):       -32600,
		fmt.Errorf("call: %w", &Fault{Name: BackendDisconnected}): -31003,
		BadParams("x"): -32602, NoMethod("x"): -32601,
	} {
		if got := ErrorCode(err); got != want {
			t.Errorf("ErrorCode(%v) = %d, want %d", err, got, want)
		}
	}
	if got := fault(ErrShape, 3, "id: want string or integer").Error(); got != "not a JSON-RPC message at offset 3: id: want string or integer" {
		t.Errorf("ParseError: %q", got)
	}
}

func TestRender(t *testing.T) {
	cases := []struct{ got, want string }{
		{string(AppendRequest(nil, 7, "ping", nil)), `{"jsonrpc":"2.0","id":7,"method":"ping"}`},
		{string(AppendRequest(nil, 1<<31, "a\"b", []byte(`{"x":1}`))), `{"jsonrpc":"2.0","id":2147483648,"method":"a\"b","params":{"x":1}}`},
		{string(AppendNotification(nil, "notifications/initialized", nil)), `{"jsonrpc":"2.0","method":"notifications/initialized"}`},
		{string(AppendResult([]byte("> "), []byte(`"a"`), []byte(`{}`))), `> {"jsonrpc":"2.0","id":"a","result":{}}`},
		{string(AppendError(nil, nil, -32700, "no", nil)), `{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}`},
		{string(AppendLine(nil, Message{Frame: []byte("{\r\n\"a\":\n\"\\n\"}"), Newline: true})), "{  \"a\": \"\\n\"}\n"},
		{string(AppendLine(nil, Message{Frame: []byte(`{}`)})), "{}\n"},
		{string(AppendSSE(nil, "message", "s1", Message{Frame: []byte("{\n}"), Newline: true})), "event: message\nid: s1\ndata: { }\n\n"},
		{string(AppendSSE(nil, "", "", Message{Frame: []byte("{}")})), "data: {}\n\n"},
	}
	for _, c := range cases {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { AppendRequest(nil, 1<<63, "tools/call", request200) }); n > 1 {
		t.Errorf("AppendRequest: %v allocations", n)
	}
}

func TestUnquote(t *testing.T) {
	for raw, want := range map[string]string{
		`""`: "", `"a"`: "a", `"\"\\\/\b\f\n\r\t"`: "\"\\/\b\f\n\r\t", `"\u00e9\ud83d\ude00"`: "é😀", `"\ud800"`: "\uFFFD", `"\ud800\u0041"`: "\uFFFDA", `"\udc00\ud800"`: "\uFFFD\uFFFD",
	} {
		if got, ok := rawjson.Unquote([]byte(raw)); got != want || !ok {
			t.Errorf("Unquote(%s) = %q, %v, want %q", raw, got, ok, want)
		}
		var std string
		if err := json.Unmarshal([]byte(raw), &std); err != nil || std != want {
			t.Errorf("encoding/json reads %s as %q", raw, std)
		}
	}
	for _, raw := range []string{``, `"`, `a`, `1`, `null`, `"\x"`, `"\u12"`, `"\"`} {
		if got, ok := rawjson.Unquote([]byte(raw)); ok {
			t.Errorf("Unquote(%s) = %q", raw, got)
		}
	}
}

// An error names the unknown item, but cuts a long name, and only between characters.
func TestUnknownNames(t *testing.T) {
	for _, of := range []func(string) *Fault{NoTool, NoPrompt, NoResource} {
		if f := of("short"); !strings.HasSuffix(f.Message, ": short") {
			t.Errorf("%s", f.Message)
		}
		f := of("x" + strings.Repeat("ü", 1<<20))
		for _, text := range []string{f.Message, f.Tool, f.URI} {
			if len(text) > maxNamed+40 || !utf8.ValidString(text) {
				t.Errorf("%s: %d bytes, valid: %v", f.Name, len(text), utf8.ValidString(text))
			}
		}
	}
}
