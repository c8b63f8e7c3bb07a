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

// A known secret is in no payload, however it is encoded, nested or cut.
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
			for s, i := shown, 0; i < 6; s, i = unescaped(s), i+1 {
				if strings.Contains(s, "unter2/") || strings.Contains(s, planted[:Shortest+2]) {
					t.Fatalf("%s, %d bytes of %s: the secret is in %s", name, cut, text, shown)
				}
			}
			if strings.Contains(shown, base64.StdEncoding.EncodeToString([]byte(planted))[:12]) {
				t.Fatalf("%s: base64 of the secret is in %s", name, shown)
			}
			if cut == len(text) && (!strings.Contains(shown, Hidden) || !json.Valid([]byte(shown))) {
				t.Errorf("%s: shown as %s", name, shown)
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
	} {
		shown := r.Payload([]byte(text), false)
		if strings.Contains(shown, "opensesame") || strings.Contains(shown, "20250001") || !strings.Contains(shown, Hidden) || !json.Valid([]byte(shown)) {
			t.Errorf("%s is shown as %s", text, shown)
		}
		for cut := range len(text) {
			if shown := r.Payload([]byte(text[:cut]), true); strings.Contains(shown, "opens") {
				t.Errorf("%s is shown as %s", text[:cut], shown)
			}
		}
	}
}

// Everything else is shown as it is, also if its end is missing.
func TestPayloadShowsTheRest(t *testing.T) {
	r := knowing()
	for _, test := range []struct{ text, want, shape string }{
		{`{"path":"/n/todo.md","head":20}`, `{"path": "/n/todo.md", "head": 20}`, `{path: string 10 B, head: number}`},
		{`{"a":[true,null,-1.5e3,"<\u00e9>"],"b":{},"c":[]}`, `{"a": [true, null, -1.5e3, "<é>"], "b": {}, "c": []}`, `{a: [boolean, 3 more], b: {}, c: []}`},
		{`{"_meta":{"progressToken":7}}`, `{"_meta": {"progressToken": 7}}`, `{_meta: {progressToken: number}}`},
		{`"text"`, `"text"`, `string 4 B`},
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
		t.Error("Item recognizes the wrong names")
	}
}

func FuzzPayload(f *testing.F) {
	f.Add(`{"a": "b", "password": [1, {"c": "\u0064"}]}`, 10)
	f.Add(`{"text": "{\"a\": \"\\ud83d\\ude00\"}"}`, 20)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		r := knowing()
		shown := r.Payload([]byte(text), false)
		if json.Valid([]byte(text)) && !json.Valid([]byte(shown)) {
			t.Errorf("%q is shown as %q", text, shown)
		}
		if cut >= 0 && cut < len(text) {
			r.Payload([]byte(text[:cut]), true)
		}
		r.Shape([]byte(text))
		hidden := r.Payload([]byte(`{"a": `+quoted(text)+`, "token": `+quoted(text+planted)+`, "b": `+quoted(text+planted)+`}`), false)
		if strings.Contains(hidden, "hunter2") && !strings.Contains(text, "unter2") {
			t.Errorf("%q", hidden)
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
