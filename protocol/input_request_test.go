package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"goblin-actor/protocol/rawjson"
)

func TestInputKindOf(t *testing.T) {
	cases := []struct {
		method, params string
		want           InputKind
		capability     string
	}{
		{"elicitation/create", `{"message":"x"}`, InputForm, `{"elicitation":{"form":{}}}`},
		{"elicitation/create", `{"mode":"form"}`, InputForm, `{"elicitation":{"form":{}}}`},
		{"elicitation/create", `{"mode":"\u0075rl"}`, InputURL, `{"elicitation":{"url":{}}}`},
		{"elicitation/create", `{"mode":"voice"}`, InputUnknown, `{}`},
		{"elicitation/create", `[]`, InputUnknown, `{}`},
		{"sampling/createMessage", `{}`, InputSample, `{"sampling":{}}`},
		{"sampling/createMessage", `{"tools":[]}`, InputSampleTools, `{"sampling":{"tools":{}}}`},
		{"sampling/createMessage", `{"toolChoice":{}}`, InputSampleTools, `{"sampling":{"tools":{}}}`},
		{"roots/list", `{}`, InputRoots, `{"roots":{}}`},
		{"ping", `{}`, InputUnknown, `{}`},
	}
	for _, c := range cases {
		f := mustParse(t, call(c.method, c.params))
		q := InputKindOf(f.Raw, f.Method, f.Params)
		if q != c.want || string(q.Capability()) != c.capability {
			t.Errorf("%s %s: %d %s", c.method, c.params, q, q.Capability())
		}
	}
	if InputKindOf(nil, MethodRootsList, rawjson.Span{}) != InputRoots {
		t.Error("roots/list without params")
	}
}

func TestValidAnswer(t *testing.T) {
	cases := []struct {
		q      InputKind
		answer string
		want   bool
	}{
		{InputForm, `{"action":"accept","content":{}}`, true}, {InputURL, `{"action":"decline"}`, true}, {InputForm, `{"action":"cancel"}`, true},
		{InputForm, `{"action":"yes"}`, false}, {InputForm, `{}`, false}, {InputForm, `"accept"`, false}, {InputForm, `null`, false},
		{InputSample, `{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"}`, true},
		{InputSampleTools, `{"role":"assistant","content":[],"model":"m"}`, true},
		{InputSample, `{"role":"assistant","content":"x","model":"m"}`, false}, {InputSample, `{"role":"assistant","content":{}}`, false},
		{InputRoots, `{"roots":[]}`, true}, {InputRoots, `{"roots":{}}`, false}, {InputUnknown, `{"roots":[]}`, false},
	}
	for _, c := range cases {
		if got := c.q.ValidAnswer([]byte(c.answer)); got != c.want {
			t.Errorf("%d %s: %v", c.q, c.answer, got)
		}
	}
}

func TestAppendInputRequest(t *testing.T) {
	cases := []struct{ have, want string }{
		{call("roots/list", `{"_meta":{"progressToken":0}}`), `{"method":"roots/list","params":{}}`},
		{`{"jsonrpc":"2.0","id":0,"method":"roots/list"}`, `{"method":"roots/list","params":{}}`},
		{call("elicitation/create", `{"mode":"url","url":"https://x","elicitationId":"e","message":"m","_meta":{"a":1,"progressToken":0,"io.modelcontextprotocol/related-task":{"taskId":"t"}}}`),
			`{"method":"elicitation/create","params":{"mode":"url","url":"https://x","elicitationId":"e","message":"m","_meta":{"a":1}}}`},
		{call("sampling/createMessage", `{"task":{"ttl":1},"messages":[ {"content":{"task":1}} ]}`), `{"method":"sampling/createMessage","params":{"messages":[ {"content":{"task":1}} ]}}`},
	}
	for _, c := range cases {
		if got := string(AppendInputRequest(nil, mustParse(t, c.have))); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.have, got, c.want)
		}
	}
}

func TestInputRequests(t *testing.T) {
	raw := []byte(`{"a":{"method":"roots/list"},"\u0062":{"params":{"mode":"url","url":"u"},"method":"elicitation\/create"},"c":{"method":"vendor/x","params":null}}`)
	var got []string
	err := InputRequests(raw, rawjson.Whole(raw), func(key []byte, m Method, params rawjson.Span) bool {
		got = append(got, fmt.Sprintf("%s %v %s", key, m, params.Of(raw)))
		if q := InputKindOf(raw, m, params); q == InputURL {
			want := `{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"elicitationId":"e-1","mode":"url","url":"u"}}`
			if asked := string(AppendLegacyRequest(nil, 7, raw, m, params, "e-1")); asked != want {
				t.Errorf("AppendLegacyRequest: %s, want %s", asked, want)
			}
		}
		return true
	})
	want := []string{`"a" roots/list `, `"\u0062" elicitation/create {"mode":"url","url":"u"}`, `"c" other `}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if got := string(AppendLegacyRequest(nil, 7, raw, MethodRootsList, rawjson.Span{}, "e-1")); got != `{"jsonrpc":"2.0","id":7,"method":"roots/list"}` {
		t.Errorf("AppendLegacyRequest: %s", got)
	}
	for text, want := range map[string]error{`[]`: ErrShape, `{"a":1}`: ErrShape, `{"a":{"method":1}}`: ErrShape, `{"a":{"method":"x","params":[]}}`: ErrShape,
		`{"a":{"method":"x"},"\u0061":{"method":"x"}}`: ErrDuplicate} {
		if err := InputRequests([]byte(text), rawjson.Whole([]byte(text)), func([]byte, Method, rawjson.Span) bool { return true }); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}

func TestURLElicitations(t *testing.T) {
	f := mustParse(t, failure(`{"code":-32042,"message":"x","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://x","message":"m"}]}}`))
	var got []string
	ok := URLElicitations(f, func(params rawjson.Span) bool {
		got = append(got, string(AppendURLRequest(nil, f, params)))
		return true
	})
	if want := []string{`{"method":"elicitation/create","params":{"mode":"url","elicitationId":"e","url":"https://x","message":"m"}}`}; !ok || !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, bad := range []string{`{"code":-32041,"data":{"elicitations":[{"url":"u"}]}}`, `{"code":-32042,"data":{"elicitations":[]}}`, `{"code":-32042}`,
		`{"code":-32042,"data":{"elicitations":[{"url":"u"},{}]}}`, `{"code":-32042,"data":{"elicitations":[1]}}`} {
		if URLElicitations(mustParse(t, failure(bad)), func(rawjson.Span) bool { t.Errorf("%s: called", bad); return true }) {
			t.Errorf("%s: reports elicitations", bad)
		}
	}
}

// A legacy server's request stays the same when it is translated for a modern client and back for a legacy client,
// except for its _meta, its task and the elicitation's id.
func FuzzQuestion(f *testing.F) {
	for _, s := range []string{`{"mode":"url","url":"u","elicitationId":"e"}`, `{"_meta":{"progressToken":1,"x":2},"messages":[]}`, `{}`, `[]`, `{"task":1,"elicitationI\u0064":2}`} {
		f.Add("elicitation/create", s)
	}
	f.Fuzz(func(t *testing.T, method, params string) {
		var frame, again Frame
		if frame.Parse([]byte(call2(method, params))) != nil || frame.Kind != KindRequest {
			return
		}
		value := AppendInputRequest(nil, &frame)
		if !json.Valid(value) {
			t.Fatalf("%s became %s", frame.Raw, value)
		}
		requests := []byte(`{"k":` + string(value) + `}`)
		err := InputRequests(requests, rawjson.Whole(requests), func(_ []byte, m Method, params rawjson.Span) bool {
			raw := AppendLegacyRequest(nil, 1, requests, m, params, "new")
			if err := again.Parse(raw); err != nil {
				t.Fatalf("%s became %s: %v", value, raw, err)
			}
			if before := frame.ParamsBytes(); again.Params.Present() {
				compare(t, frame.Raw, raw, before, again.ParamsBytes(), "_meta", "elicitationId", "task")
			}
			return true
		})
		if err != nil && params[0] == '{' {
			t.Fatalf("%s: %v", value, err)
		}
	})
}
