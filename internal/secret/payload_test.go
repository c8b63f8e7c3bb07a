package secret

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// planted is a known secret; unknown ones are recognized by the names of their members.
const planted = "hunter2/hunter2&x"

func knowing() *Redactor {
	var r Redactor
	r.Replace("configuration", planted)
	return &r
}

// escaped writes every character of a text as a JSON escape.
func escaped(s string) string {
	var b strings.Builder
	for _, c := range s {
		fmt.Fprintf(&b, `\u%04x`, c)
	}
	return b.String()
}

// quoted returns a text as a JSON string.
func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// A known secret is in no payload: not as it is, not escaped for JSON or URLs, not in base64, not in nested JSON, and
// not where the payload is cut.
func TestPayloadHidesKnownSecrets(t *testing.T) {
	r := knowing()
	nested := `{"deep": ` + quoted(`{"deeper": "`+escaped(planted)+`"}`) + `}`
	for name, text := range map[string]string{
		"plain":              `{"a": ` + quoted(planted) + `}`,
		"escaped":            `{"a": "` + escaped(planted) + `"}`,
		"one escape":         `{"a": "hunter2\/\u0068unter2&x"}`,
		"in a text":          `{"content": [{"type": "text", "text": ` + quoted("it is "+planted+", see?") + `}]}`,
		"nested":             `{"text": ` + quoted(nested) + `}`,
		"nested in a text":   `{"text": ` + quoted("result: "+nested) + `}`,
		"a key":              `{` + quoted(planted) + `: 1}`,
		"an escaped key":     `{"` + escaped(planted) + `": 1}`,
		"base64":             `{"data": ` + quoted(base64.StdEncoding.EncodeToString([]byte("xx"+planted+"yyy"))) + `}`,
		"base64 in JSON":     `{"text": ` + quoted(`{"data": `+quoted(base64.URLEncoding.EncodeToString([]byte("x"+planted)))+`}`) + `}`,
		"query":              `{"uri": ` + quoted("https://a.example/?q="+url.QueryEscape(planted)) + `}`,
		"mixed percents":     `{"uri": "https://a.example/%68unter2/hunter2%26x"}`,
		"percents in escape": `{"uri": "https://a.example/\u002568unter2/hunter2%26x"}`,
	} {
		for cut := 1; cut <= len(text); cut++ {
			shown := r.Payload([]byte(text[:cut]), cut < len(text))
			for s, i := shown, 0; i < 6; s, i = unescapeURL(unescapeJSON(s)), i+1 {
				if strings.Contains(s, "unter2/") || strings.Contains(s, planted[:Shortest+2]) {
					t.Fatalf("%s, %d bytes of %s: the secret is in %s", name, cut, text, shown)
				}
			}
			if strings.Contains(shown, base64.StdEncoding.EncodeToString([]byte(planted))[:12]) {
				t.Fatalf("%s: base64 of the secret is in %s", name, shown)
			}
			if cut == len(text) && (!strings.Contains(shown, Hidden) || !json.Valid([]byte(shown))) {
				t.Errorf("%s: shown as %s, want valid JSON with %s", name, shown, Hidden)
			}
		}
		if shape := r.Shape([]byte(text)); strings.Contains(shape, "unter2") {
			t.Errorf("%s: the secret is in the shape %s", name, shape)
		}
	}
}

// Values of members whose names suggest a secret are hidden, although they are not known.
func TestPayloadHidesNamedSecrets(t *testing.T) {
	r := new(Redactor)
	for _, text := range []string{
		`{"password": "opensesame"}`,
		`{"\u0070assword": "opensesame"}`,
		`{"a": {"githubToken": {"b": ["opensesame", 7]}}}`,
		`{"API_KEY": "opensesame"}`, `{"pat": "opensesame"}`, `{"PAT_GITHUB": "opensesame"}`, `{"x-api-key": "opensesame"}`,
		`{"pin": 1, "secret": 20250001}`,
		`{"env": {"A": "opensesame"}}`, `{"headers": {"X-A": "opensesame"}}`,
		`{"inputResponses": {"form": {"content": {"a": "opensesame"}}}, "requestState": "opensesame"}`,
		`{"value": "opensesame", "name": "DB_PASSWORD"}`, `{"key": "DB_PASSWORD", "values": ["opensesame"]}`,
		`{"text": "{\"password\": \"opensesame\"}"}`,
		`{"text": "login: {\"password\": \"opensesame\"}"}`,
		`{"text": "export DB_PASSWORD=opensesame\nls"}`,
		`{"text": "Authorization: Bearer opensesame"}`,
		`{"text": "postgres://ada:opensesame@db/x"}`,
		`{"text": "ghp_opensesameopensesame"}`,
		`{"text": "[{\"credentials\": {\"user\": \"opensesame\"}}]"}`,
		`{"text": "-----BEGIN OPENSSH PRIVATE KEY-----\nopensesame\n-----END OPENSSH PRIVATE KEY-----\n"}`,
		`{"text": "-----BEGIN RSA PRIVATE KEY-----\nAAAA\nopensesame"}`,
		`{"text": "DB_PASS=opensesame\n"}`, `{"text": "https://a.example/x?a=1&sig=opensesame"}`, `{"text": "dbPass: opensesame"}`, `{"text": "otp=opensesame"}`,
		`{"text": "db:\n  pass: opensesame\n"}`, `{"text": "PASSWORD=a;opensesame"}`,
		`{"dbPass": "opensesame"}`, `{"smtpPass": "opensesame"}`, `{"authCode": "opensesame"}`, `{"otp": "opensesame"}`, `{"auth": ["opensesame"]}`,
		`{"pin": 20250001}`, `{"code": "4/0AXopensesame"}`, `{"code": 20250001}`, `{"exit_code": 20250001}`, `{"verification_code": 20250001}`,
		`{"command": "mysql --password opensesame"}`, `{"command": "curl -u ada:opensesame https://a.example"}`, `{"command": "x --pass 'open opensesame'"}`,
		`{"args": ["--token", "opensesame"]}`, `{"args": ["-u", "ada:opensesame"]}`, `{"args": ["-H", "X-A: opensesame"]}`, `{"args": ["-e", "A=opensesame"]}`,
		`{"text": "token := \"opensesame\""}`, `{"text": "'api_key' => 'opensesame'"}`, `{"text": "key == opensesame"}`,
		`{"text": "sshpass -p opensesame ssh a"}`, `{"text": "mysqldump -u ada -popensesame a"}`, `{"text": "machine a login ada password opensesame"}`,
		`{"text": "Authorization: ApiKey opensesame"}`, `{"text": "GET / HTTP/1.1\r\nCookie: theme=dark; session=opensesame\r\n"}`,
		`{"text": "password: correct opensesame"}`, `{"text": "the passphrase is below\npassphrase: \"correct opensesame\""}`,
		`{"text": "postgres://ada:op#opensesame@db"}`, `{"text": "postgres://ada:p@opensesame@db"}`, `{"text": "postgres://ada:p@a/opensesame@db"}`,
		`{"text": "https://opensesame@git.example/x"}`,
		`{"text": "vars:\n[{\"name\":\"DB_PASSWORD\",\"value\":\"opensesame\"}]"}`,
		`{"text": "{\"name\":\"A\",\"value\":\"b\"}\n{\"name\":\"DB_PASSWORD\",\"value\":\"opensesame\"}\n"}`,
		`{"text": "[[[{\"name\":\"DB_PASSWORD\",\"value\":\"opensesame\"} and more"}`,
		`{"text": "[[[{{{\"value\":\"opensesame\",\"name\":\"DB_PASSWORD\",} and more"}`,
		`{"ghp_opensesameopensesame": 1}`, `{"Bearer opensesame": 1}`, `{"token=opensesame": 1}`, `{"opensesameOpensesame1234": 1}`,
		`{"text": "AIzaopensesameopensesameopensesameopensesame"}`, `{"text": "ya29.opensesameopensesame"}`, `{"text": "ASIAopensesameopensesame"}`,
		`{"text": "glrt-opensesameopensesame"}`,
	} {
		shown := r.Payload([]byte(text), false)
		if strings.Contains(shown, "opensesame") || strings.Contains(shown, "20250001") || !strings.Contains(shown, Hidden) || !json.Valid([]byte(shown)) {
			t.Errorf("%s is shown as %s, want the secret hidden", text, shown)
		}
		for cut := range len(text) {
			if shown := r.Payload([]byte(text[:cut]), true); strings.Contains(shown, "opens") {
				t.Errorf("%s is shown as %s, want the secret hidden", text[:cut], shown)
			}
		}
		if shape := r.Shape([]byte(text)); strings.Contains(shape, "opens") {
			t.Errorf("%s has the shape %s, want it without values", text, shape)
		}
	}
}

// Everything else is shown, also if the end of the payload is missing. Text that is not JSON, deep nesting and a code
// whose end is missing are hidden.
func TestPayloadShowsTheRest(t *testing.T) {
	r := knowing()
	for _, test := range []struct{ text, want, shape string }{
		{`{"path":"/n/todo.md","head":20}`, `{"path": "/n/todo.md", "head": 20}`, `{path: string 10 B, head: number}`},
		{`{"a":[true,null,-1.5e3,"<\u00e9>"],"b":{},"c":[]}`, `{"a": [true, null, -1.5e3, "<é>"], "b": {}, "c": []}`, `{a: [boolean, 3 more], b: {}, c: []}`},
		{`{"_meta":{"progressToken":7}}`, `{"_meta": {"progressToken": 7}}`, `{_meta: {progressToken: number}}`},
		{`"text"`, `"text"`, `string 4 B`},
		{`{"code":-32602,"message":"a"}`, `{"code": -32602, "message": "a"}`, `{code: number, message: string 1 B}`},
		{`{"code":"TOOL_NOT_FOUND","exit_code":127}`, `{"code": "TOOL_NOT_FOUND", "exit_code": 127}`, `{code: string 14 B, exit_code: number}`},
		{`{"code":"TOOL`, `{"code": "[redacted]…`, `{code: string 4 B…}…`},
		{`{"text":"PASS: TestA (0.01s)\nsee https://a.example/@b/c, {\"a\": 1 }"}`, `{"text": "PASS: TestA (0.01s)\nsee https://a.example/@b/c, {\"a\": 1 }"}`, `{text: string 57 B}`},
		{`{"text":"git push -u origin main; mkdir -p a"}`, `{"text": "git push -u origin main; mkdir -p a"}`, `{text: string 35 B}`},
		{`{"args":["-v","a"],"path":"C:\\new%20x"}`, `{"args": ["-v", "a"], "path": "C:\\new%20x"}`, `{args: [string 2 B, 1 more], path: string 10 B}`},
		{`{"text":"{\"a\":1} "}`, `{"text": "{\"a\": 1}"}`, `{text: string 8 B}`},
		{`{"text":"[unclosed"}`, `{"text": "[unclosed"}`, `{text: string 9 B}`},
		{`{"name":"files","arguments":{"path":"/x`, `{"name": "files", "arguments": {"path": "…`, `{name: string 5 B, arguments: {path: string 2 B…}…}…`},
		{`{"a":12`, `{"a": 12…`, `{a: number…}…`},
		{`{"a":1,"b`, `{"a": 1…`, `{a: number}…`},
		{`{"a":"b \u00`, `{"a": "b …`, `{a: string 2 B…}…`},
		{strings.Repeat("[", 100), strings.Repeat("[", 64) + `"[redacted]"…`, ""},
		{`not JSON`, Hidden, ""},
		{``, ``, ``},
	} {
		cut := test.text != "" && !json.Valid([]byte(test.text)) && !strings.HasPrefix(test.text, "not")
		if got := r.Payload([]byte(test.text), cut); got != test.want {
			t.Errorf("%s is shown as %s, want %s", test.text, got, test.want)
		}
		if got := r.Shape([]byte(test.text)); got != test.shape && test.text[0] != '[' {
			t.Errorf("%s has the shape %s, want %s", test.text, got, test.shape)
		}
	}
	if !Item("get_secret") || !Item("env://API_KEYS") || Item("keyboard_type") || Item("read_file") {
		t.Error("Item must recognize get_secret and env://API_KEYS, but not keyboard_type and read_file")
	}
}

// Escapes of JSON and URLs are resolved in any order, and text with too many of them is hidden.
func TestPayloadResolvesEscapes(t *testing.T) {
	var r Redactor
	r.Replace("configuration", "p%40ssw0rd99")
	for _, text := range []string{
		`x \u0070%40ssw0rd99`, `x \\u0070%40ssw0rd99`, `x p%2540ssw0rd99`, `x %5cu0070%2540ssw0rd99`, "%" + strings.Repeat("25", 8000),
	} {
		if shown := r.Payload([]byte(`{"a": `+quoted(text)+`}`), false); !strings.Contains(shown, Hidden) {
			t.Errorf("%.99s is shown as %.99s, want it hidden", text, shown)
		}
	}
	if shown := r.Payload([]byte(`{"a": "`+escaped("a%20b%2520c")+`"}`), false); shown != `{"a": "a%20b%2520c"}` {
		t.Errorf("shown as %s, want the text without JSON escapes", shown)
	}
}

func FuzzPayload(f *testing.F) {
	f.Add(`{"a": "b", "password": [1, {"c": "\u0064"}]}`, 10)
	f.Add(`{"text": "{\"a\": \"\\ud83d\\ude00\"}"}`, 20)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		r := knowing()
		shown := r.Payload([]byte(text), false)
		if json.Valid([]byte(text)) && !json.Valid([]byte(shown)) {
			t.Errorf("%q is shown as %q, want valid JSON", text, shown)
		}
		if cut >= 0 && cut < len(text) {
			r.Payload([]byte(text[:cut]), true)
		}
		r.Shape([]byte(text))
		hidden := r.Payload([]byte(`{"a": `+quoted(text)+`, "token": `+quoted(text+planted)+`, "b": `+quoted(text+planted)+`}`), false)
		if strings.Contains(hidden, "hunter2") && !strings.Contains(text, "unter2") {
			t.Errorf("the secret is in %q", hidden)
		}
	})
}

func BenchmarkPayload(b *testing.B) {
	text := []byte(`{"content":[{"type":"text","text":` + quoted(strings.Repeat("the quick brown fox: jumps over the lazy dog\n", 350)) + `}]}`)
	r := knowing()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.Payload(text, false)
	}
}
