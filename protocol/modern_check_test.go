package protocol

import (
	"encoding/json"
	"strings"
	"testing"
)

// headers returns a header function for "Name: value" lines, as transports provide it.
func headers(lines ...string) func(string) string {
	m := map[string]string{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ":")
		m[strings.ToLower(name)] = value
	}
	return func(name string) string { return m[strings.ToLower(name)] }
}

func scanned(t testing.TB, raw string) (*Frame, *Params) {
	t.Helper()
	f := mustParse(t, raw)
	p := new(Params)
	if err := p.Scan(f); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return f, p
}

const (
	testMeta    = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	testVersion = "MCP-Protocol-Version: 2026-07-28"
)

// eraIf returns EraModern if modern is true, and EraLegacy otherwise.
func eraIf(modern bool) Era {
	if modern {
		return EraModern
	}
	return EraLegacy
}

// E1, E2: each message has its own era.
func TestEraOf(t *testing.T) {
	const key = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}`
	cases := []struct {
		method, params, header string
		stdio, http            bool // modern
	}{
		{"tools/call", `{"name":"a"}`, "", false, false},
		{"tools/call", `{"name":"a"}`, "2025-11-25", false, false},
		{"tools/call", `{"name":"a"}`, "2026-07-28", false, true},
		{"tools/call", `{"name":"a"}`, " 2026-07-28 ", false, true},
		{"tools/call", `{"name":"a"}`, "2027-01-01", false, true},
		{"tools/call", `{"name":"a"}`, "draft", false, false},
		{"tools/call", `{"name":"a"}`, "2026-07-281", false, false},
		{"tools/call", `{"name":"a"}`, "2026/07/28", false, false},
		{"tools/call", `{"name":"a",` + key + `}`, "", true, true},
		{"tools/call", `{"name":"a",` + testMeta + `}`, "2025-11-25", true, true},
		{"server/discover", `{}`, "", true, true},
		{"subscriptions/listen", `{}`, "", true, true},
		{"initialize", `{"protocolVersion":"2026-07-28"}`, "", false, false},
		{"initialize", `{"protocolVersion":"2025-11-25"}`, "2026-07-28", false, true},
		{"initialize", `{` + testMeta + `}`, "", true, true},
	}
	for _, c := range cases {
		f, p := scanned(t, call(c.method, c.params))
		if got := EraOf(nil, f, p); got != eraIf(c.stdio) {
			t.Errorf("%s %s on stdio: %v", c.method, c.params, got)
		}
		if got := EraOf(headers("mcp-protocol-version: "+c.header), f, p); got != eraIf(c.http) {
			t.Errorf("%s %s under %q: %v", c.method, c.params, c.header, got)
		}
	}
	if !IsModern(Version20260728) || IsModern(Version20251125) || IsLegacy(Version20260728) {
		t.Error("IsModern or IsLegacy is wrong about a version")
	}
}

func modernParams(rest string) string { return `{` + testMeta + rest + `}` }

var oldMeta = strings.Replace(testMeta, "2026-07-28", "2025-11-25", 1)

func under(more ...string) []string { return append([]string{testVersion}, more...) }

var modernChecks = []struct {
	name, method, params string
	headers              []string
	code, status         int // 0 = valid
	says                 string
}{
	{"right", "tools/call", modernParams(`,"name":"a"`), under("Mcp-Method: tools/call", "Mcp-Name: a"), 0, 0, ""},
	{"escaped", "tools\\/call", modernParams(`,"name":"\u0061"`), under("Mcp-Method: tools/call", "Mcp-Name: =?base64?YQ==?="), 0, 0, ""},
	{"list", "tools/list", modernParams(``), under("Mcp-Method: tools/list", "Mcp-Name: whatever"), 0, 0, ""},
	{"read", "resources/read", modernParams(`,"uri":"x://é"`), under("Mcp-Method: resources/read", "Mcp-Name: =?base64?eDovL8Op?="), 0, 0, ""},
	{"task", "tasks/get", modernParams(`,"taskId":"t"`), under("Mcp-Method: tasks/get", "Mcp-Name: t"), 0, 0, ""},
	{"task without name header", "tasks/get", modernParams(`,"taskId":"t"`), under("Mcp-Method: tasks/get"), 0, 0, ""},
	{"task, another in the header", "tasks/cancel", modernParams(`,"taskId":"t"`), under("Mcp-Method: tasks/cancel", "Mcp-Name: u"), -32020, 400, "'u' does not match body value 't'"},
	{"no meta", "tools/list", `{}`, nil, -32602, 400, "protocolVersion"},
	{"no capabilities", "tools/list", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`, under(), -32602, 400, "clientCapabilities"},
	{"null capabilities", "tools/list", strings.Replace(modernParams(``), "{}", "null", 1), under(), -32602, 400, "clientCapabilities"},
	{"capabilities of a wrong type", "tools/list", strings.Replace(modernParams(``), "{}", "[]", 1), under(), -32602, 400, "clientCapabilities"},
	{"version of a wrong type", "tools/list", strings.Replace(modernParams(``), `"2026-07-28"`, "2026", 1), under(), -32602, 400, "protocolVersion"},
	{"no version header", "tools/list", modernParams(``), []string{"Mcp-Method: tools/list"}, -32020, 400, "MCP-Protocol-Version is missing"},
	{"other version header", "tools/list", `{` + oldMeta + `}`, under("Mcp-Method: tools/list"), -32020, 400, "2025-11-25"},
	{"two version headers", "tools/list", modernParams(``), under("mcp-protocol-version: 2026-07-28, 2025-11-25"), -32020, 400, "2025-11-25"},
	{"unsupported version", "tools/list", `{` + oldMeta + `}`, []string{"MCP-Protocol-Version: 2025-11-25"}, -32022, 400, "Unsupported"},
	{"no method header", "tools/list", modernParams(``), under(), -32020, 400, "Mcp-Method is missing"},
	{"other method header", "tools/list", modernParams(``), under("Mcp-Method: tools/call"), -32020, 400, "'tools/call' does not match body value 'tools/list'"},
	{"method in other case", "tools/list", modernParams(``), under("Mcp-Method: Tools/List"), -32020, 400, "does not match"},
	{"ping", "ping", modernParams(``), under("Mcp-Method: ping"), -32601, 404, "ping"},
	{"initialize", "initialize", modernParams(``), under("Mcp-Method: initialize"), -32601, 404, "initialize"},
	{"initialize without meta", "initialize", `{"protocolVersion":"2026-07-28"}`, under(), -32602, 400, ""},
	{"setLevel", "logging/setLevel", modernParams(`,"level":"info"`), under("Mcp-Method: logging/setLevel"), -32601, 404, ""},
	{"tasks/result", "tasks/result", modernParams(`,"taskId":"a"`), under("Mcp-Method: tasks/result"), -32601, 404, ""},
	{"a question", "roots/list", modernParams(``), under("Mcp-Method: roots/list"), -32601, 404, ""},
	{"of a vendor", "vendor/x", modernParams(``), under("Mcp-Method: vendor/x"), -32601, 404, "vendor/x"},
	{"of a vendor, wrong header", "vendor/x", modernParams(``), under("Mcp-Method: vendor/y"), -32020, 400, ""},
	{"no name header", "tools/call", modernParams(`,"name":"a"`), under("Mcp-Method: tools/call"), -32020, 400, "Mcp-Name is missing"},
	{"other name header", "prompts/get", modernParams(`,"name":"a"`), under("Mcp-Method: prompts/get", "Mcp-Name: b"), -32020, 400, "'b' does not match body value 'a'"},
	{"bad base64", "tools/call", modernParams(`,"name":"a"`), under("Mcp-Method: tools/call", "Mcp-Name: =?base64?YQ?="), -32020, 400, "malformed"},
	{"not ASCII", "tools/call", modernParams(`,"name":"é"`), under("Mcp-Method: tools/call", "Mcp-Name: é"), -32020, 400, "malformed"},
	{"name in the header only", "tools/call", modernParams(``), under("Mcp-Method: tools/call", "Mcp-Name: a"), -32020, 400, "no such value"},
	{"no name", "tools/call", modernParams(``), under("Mcp-Method: tools/call"), -32602, 200, "params.name"},
	{"no uri", "resources/read", modernParams(``), under("Mcp-Method: resources/read"), -32602, 200, "params.uri"},
	{"no ref", "completion/complete", modernParams(``), under("Mcp-Method: completion/complete"), -32602, 200, "params.ref"},
	{"no notifications", "subscriptions/listen", modernParams(``), under("Mcp-Method: subscriptions/listen"), -32602, 200, "params.notifications"},
	{"bad level", "tools/list", strings.Replace(modernParams(``), "{}", `{},"io.modelcontextprotocol/logLevel":"loud"`, 1), under("Mcp-Method: tools/list"), -32602, 400, "logLevel"},
	{"level", "tools/list", strings.Replace(modernParams(``), "{}", `{},"io.modelcontextprotocol/logLevel":"info"`, 1), under("Mcp-Method: tools/list"), 0, 0, ""},
}

// behindHeaders holds the codes that stdio reports for cases in which HTTP reports a header error first.
var behindHeaders = map[string]int{"task, another in the header": 0, "other version header": -32022, "of a vendor, wrong header": -32601, "name in the header only": -32602}

// E3, E4, H9 to H12, H14, H15: the checks in order, with code and status.
func TestCheckModern(t *testing.T) {
	for _, c := range modernChecks {
		f, p := scanned(t, call(c.method, c.params))
		fault := CheckModern(headers(c.headers...), f, p)
		switch {
		case fault == nil && c.code != 0:
			t.Errorf("%s: no fault, want %d", c.name, c.code)
		case fault != nil && (fault.Code(EraModern) != c.code || fault.Status(EraModern) != c.status || !strings.Contains(fault.Error(), c.says)):
			t.Errorf("%s: %d, HTTP %d, %q, want %d, %d, %q", c.name, fault.Code(EraModern), fault.Status(EraModern), fault.Error(), c.code, c.status, c.says)
		}
		want := c.code
		if want == -32020 {
			want = behindHeaders[c.name]
		}
		got := 0
		if fault := CheckModern(nil, f, p); fault != nil {
			got = fault.Code(EraModern)
		}
		if got != want {
			t.Errorf("%s on stdio: %d, want %d", c.name, got, want)
		}
	}
}

func TestCheckModernKinds(t *testing.T) {
	note, p := scanned(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if fault := CheckModern(headers(), note, p); fault != nil {
		t.Errorf("a notification: %v", fault) // H7
	}
	answer := mustParse(t, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	if fault := CheckModern(headers(testVersion), answer, &Params{}); fault == nil || fault.Code(EraModern) != -32600 || fault.Status(EraModern) != 400 {
		t.Errorf("an answer: %v", fault) // H1
	}
}

// E4: the error lists the supported versions.
func TestUnsupportedVersionData(t *testing.T) {
	f, p := scanned(t, call("tools/list", `{`+strings.Replace(testMeta, "2026-07-28", "1900-01-01", 1)+`}`))
	var answer struct {
		Error struct {
			Code int
			Data struct {
				Supported []string
				Requested string
			}
		}
	}
	if err := json.Unmarshal(CheckModern(nil, f, p).AppendTo(nil, []byte("1"), EraModern), &answer); err != nil {
		t.Fatal(err)
	}
	if e := answer.Error; e.Code != -32022 || len(e.Data.Supported) != 1 || e.Data.Supported[0] != "2026-07-28" || e.Data.Requested != "1900-01-01" {
		t.Errorf("got %+v", answer.Error)
	}
}

func TestHeaderValue(t *testing.T) {
	cases := []struct{ text, value string }{ // the specification's examples, and edge cases
		{"us-west1", "us-west1"}, {"Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="}, {" padded ", "=?base64?IHBhZGRlZCA=?="},
		{"line1\nline2", "=?base64?bGluZTEKbGluZTI=?="}, {"=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
		{"", ""}, {"a\tb", "a\tb"}, {"\x7f", "=?base64?fw==?="}, {"=?base64?=", "=?base64?="}, {"=?BASE64?YQ==?=", "=?BASE64?YQ==?="},
	}
	for _, c := range cases {
		if got := EncodeHeaderValue(c.text); got != c.value {
			t.Errorf("EncodeHeaderValue(%q) = %q, want %q", c.text, got, c.value)
		}
		if got, ok := DecodeHeaderValue(" " + c.value + "\t"); got != c.text || !ok {
			t.Errorf("DecodeHeaderValue(%q) = %q, %v, want %q", c.value, got, ok, c.text)
		}
	}
	for _, bad := range []string{"=?base64?YQ?=", "=?base64?YQ=?=", "=?base64?YR==?=", "=?base64?Y-_Q?=", "=?base64?Y Q=?=", "é", "a\nb", "a\x00"} {
		if got, ok := DecodeHeaderValue(bad); ok {
			t.Errorf("DecodeHeaderValue(%q) = %q", bad, got)
		}
	}
}

func FuzzHeaderValue(f *testing.F) {
	for _, s := range []string{"", "a", " a", "=?base64??=", "=?base64?=", "é\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value := EncodeHeaderValue(text)
		if got, ok := DecodeHeaderValue(value); !ok || got != text || !headerText(value) || trimHeader(value) != value {
			t.Fatalf("%q as %q as %q, %v", text, value, got, ok)
		}
		DecodeHeaderValue(text)
	})
}
