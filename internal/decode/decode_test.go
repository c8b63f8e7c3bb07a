package decode

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
)

type piece struct {
	Type string  `json:"type"`
	Text *string `json:"text"`
	Data []byte  `json:"data"`
}

type result struct {
	Content    []piece          `json:"content"`
	Structured json.RawMessage  `json:"structuredContent"`
	IsError    bool             `json:"isError"`
	Size       int64            `json:"size"`
	Number     json.Number      `json:"number"`
	At         time.Time        `json:"at"`
	Named      map[string]piece `json:"named"`
	Either     either           `json:"either"`
}

// either is a string or an array of strings.
type either []string

func (e *either) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*e = either{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(e))
}

func TestErrorsAreWordedForPeople(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"content":[{"type":"text","text":"a"}],"either":"b"}`, ""},
		{`"hello"`, "the result is a string; an object with content was expected"},
		{` 17`, "the result is a number; an object with content was expected"},
		{`[1]`, "the result is an array; an object with content was expected"},
		{`true`, "the result is a boolean; an object with content was expected"},
		{`null`, "the result is null; an object with content was expected"},
		{``, "the result is empty; an object with content was expected"},
		{`{"content":`, "the result is not valid JSON"},
		{`{"content":"a"}`, "content in the result is a string; an array was expected"},
		{`{"content":[{},{"text":5}]}`, "content[1].text in the result is a number; a string was expected"},
		{`{"CONTENT":[{"text":{}}]}`, "content[0].text in the result is an object; a string was expected"},
		{`{"content":[{"data":"***"}]}`, "content[0].data in the result is a string; base64 text was expected"},
		{`{"content":["a"]}`, "content[0] in the result is a string; an object was expected"},
		{`{"isError":"no"}`, "isError in the result is a string; a boolean was expected"},
		{`{"size":1.5}`, "size in the result is a number; a whole number was expected"},
		{`{"number":"x"}`, "number in the result is a string; a number was expected"},
		{`{"at":"noon"}`, "at in the result does not have the expected form"},
		{`{"at":5}`, "at in the result is a number; a string was expected"},
		{`{"named":{"b":{"type":"x"},"a\u200b":7}}`, `named.a\u200b in the result is a number; an object was expected`},
		{`{"either":{}}`, "either in the result is an object; an array was expected"},
		{`{"either":["a",1]}`, "either[1] in the result is a number; a string was expected"},
	} {
		got := ""
		if err := JSON([]byte(c.in), "the result", new(result)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.in, got, c.want)
		}
	}
}

func TestOtherForms(t *testing.T) {
	var m map[string]json.RawMessage
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"object expected", JSON([]byte(`[]`), "--json", &m), "--json is an array; an object was expected"},
		{"early end", Own([]byte(`{"a":`), "--json", &m), "--json is not valid JSON: it ends too early"},
		{"position", Own([]byte(`{"a":é}`), "--json", &m), "--json is not valid JSON: unexpected 'é' at byte 6"},
		{"two values", Own([]byte(`{} x`), "--json", &m), "--json is not valid JSON: unexpected 'x' at byte 4"},
		{"unknown member", Strict([]byte(`{"tipe":1}`), "arguments", new(piece)), `arguments has an unknown member "tipe"`},
		{"stream", Reader(strings.NewReader(`"x"`), "the body", &m), "the body is a string; an object was expected"},
		{"empty body", Reader(http.MaxBytesReader(httptest.NewRecorder(), http.NoBody, 0), "the body", &m), "the body is empty; an object was expected"},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.name, c.err, c.want)
		}
	}
}

var internals = regexp.MustCompile(`json:|Go |struct|unmarshal|\[\]|\bint\d*\b|decode\.`)

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"content":[{"text":5}],"either":[null]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var v result
		err := JSON(raw, "it", &v)
		if plain := json.Unmarshal(raw, new(result)); plain != nil && err == nil {
			t.Fatalf("%q is decoded, although %v", raw, plain)
		}
		if err != nil && internals.MatchString(err.Error()) && !json.Valid(raw) {
			t.Fatalf("%q: %v", raw, err)
		}
	})
}
