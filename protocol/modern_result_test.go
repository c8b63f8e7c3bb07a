package protocol

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"goblin-actor/protocol/rawjson"
)

const (
	testServer = `{"name":"g","version":"1"}`
	serverMeta = `"_meta":{"io.modelcontextprotocol/serverInfo":` + testServer + `}`
)

func answer(result string) string { return `{"jsonrpc":"2.0","id":1,"result":` + result + `}` }

func scannedResult(t testing.TB, raw string) (*Frame, *ResultInfo) {
	t.Helper()
	f := mustParse(t, raw)
	r := new(ResultInfo)
	if err := r.Scan(f); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return f, r
}

func TestToModernResult(t *testing.T) {
	const complete = `"resultType":"complete"`
	cases := []struct {
		m          Method
		have, want string
	}{
		{MethodToolsCall, `{"content":[]}`, `{` + complete + `,` + serverMeta + `,"content":[]}`},
		{MethodToolsCall, `{}`, `{` + complete + `,"content":[],` + serverMeta + `}`},
		{MethodToolsCall, `{ }`, `{` + complete + `,"content":[],` + serverMeta + ` }`},
		{MethodToolsCall, `{"content":null,"isError":true}`, `{` + complete + `,"content":[],` + serverMeta + `,"isError":true}`},
		{MethodToolsCall, `{"content":[],"_meta":{"a":1}}`, `{` + complete + `,"content":[],"_meta":{"io.modelcontextprotocol/serverInfo":` + testServer + `,"a":1}}`},
		{MethodToolsCall, `{"content":[],"_meta":{}}`, `{` + complete + `,"content":[],"_meta":{"io.modelcontextprotocol/serverInfo":` + testServer + `}}`},
		{MethodToolsCall, `{` + complete + `,"content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"theirs"}}}`, ``},
		{MethodToolsCall, `{"resultType":null,"content":[],` + serverMeta + `}`, `{` + complete + `,"content":[],` + serverMeta + `}`},
		{MethodToolsCall, `{"resultType":"input_required","requestState":"x",` + serverMeta + `}`, ``},
		{MethodToolsCall, `{"requestState":"x",` + serverMeta + `}`, `{"resultType":"input_required","requestState":"x",` + serverMeta + `}`},
		{MethodToolsCall, `{"resultType":"task","taskId":"x",` + serverMeta + `}`, ``},
		{MethodPromptsGet, `{"messages":[]}`, `{` + complete + `,` + serverMeta + `,"messages":[]}`},
		{MethodResourcesRead, `{"contents":[]}`, `{` + complete + `,"ttlMs":0,"cacheScope":"private",` + serverMeta + `,"contents":[]}`},
		{MethodResourcesRead, `{"contents":[],"ttlMs":5,"cacheScope":null,` + serverMeta + `}`, `{` + complete + `,"cacheScope":"private","contents":[],"ttlMs":5,` + serverMeta + `}`},
		{MethodToolsList, `{"tools":[],"_meta":7}`, `{` + complete + `,"ttlMs":0,"cacheScope":"private","tools":[],"_meta":7}`},
		{MethodServerDiscover, `{"supportedVersions":[]}`, `{` + complete + `,"ttlMs":0,"cacheScope":"private",` + serverMeta + `,"supportedVersions":[]}`},
		{MethodCompletionComplete, `{"completion":{"values":[]}}`, `{` + complete + `,` + serverMeta + `,"completion":{"values":[]}}`},
		{MethodOther, `{"x":1}`, `{` + complete + `,` + serverMeta + `,"x":1}`},
	}
	for _, c := range cases {
		f, r := scannedResult(t, answer(c.have))
		if c.want == "" {
			c.want = c.have
		}
		got := string(rawjson.AppendEdited(nil, f.Raw, ToModernResult(nil, c.m, f, r, []byte(testServer))...))
		if got != answer(c.want) {
			t.Errorf("%v %s:\ngot  %s\nwant %s", c.m, c.have, got, answer(c.want))
		}
		if _, r := scannedResult(t, got); r.Odd {
			t.Errorf("%s is odd", got)
		}
	}
	f, r := scannedResult(t, answer(`{"content":[]}`))
	if got := string(rawjson.AppendEdited(nil, f.Raw, ToModernResult(nil, MethodToolsCall, f, r, nil)...)); got != answer(`{"resultType":"complete","content":[]}`) {
		t.Errorf("without serverInfo: %s", got)
	}
}

func TestToLegacyResult(t *testing.T) {
	cases := []struct {
		m          Method
		have, want string
	}{
		{MethodToolsCall, `{"resultType":"complete","content":[],` + serverMeta + `}`, `{"content":[]}`},
		{MethodToolsCall, `{` + serverMeta + `,"content":[]}`, `{"content":[]}`},
		{MethodToolsCall, `{"content":[],"_meta":{"a":1,"io.modelcontextprotocol/serverInfo":{},"b":[2]}}`, `{"content":[],"_meta":{"a":1,"b":[2]}}`},
		{MethodPromptsGet, `{"messages":[],"_meta":{"io.modelcontextprotocol\/serverInfo":null,"b":2}}`, `{"messages":[],"_meta":{"b":2}}`},
		{MethodToolsCall, `{"content":[],"_meta":{"a":1}}`, ``},
		{MethodToolsCall, `{"content":[],"resultType":"complete","structuredContent":{"a":1}}`, `{"content":[],"structuredContent":{"a":1}}`},
		{MethodToolsCall, `{"content":[],"resultType":"complete","structuredContent":["a"]}`, `{"content":[{"type":"text","text":"[\"a\"]"}]}`},
		{MethodToolsCall, `{"structuredContent":3,"content":[ {"type":"image"} ]}`, `{"content":[ {"type":"image"} ,{"type":"text","text":"3"}]}`},
		{MethodToolsCall, `{"structuredContent":[1, 2],"content":[{"type":"text","text":"[1, \u0032]"}]}`, `{"content":[{"type":"text","text":"[1, \u0032]"}]}`},
		{MethodToolsCall, `{"structuredContent":false}`, `{"content":[{"type":"text","text":"false"}]}`},
		{MethodToolsCall, `{"structuredContent":"x","content":null}`, `{"content":[{"type":"text","text":"\"x\""}]}`},
		{MethodToolsCall, `{"structuredContent":null,"content":[]}`, `{"content":[]}`},
		{MethodToolsCall, `{"resultType":"complete"}`, `{"content":[]}`},
		{MethodResourcesRead, `{"resultType":"complete","ttlMs":0,"contents":[],"cacheScope":"public"}`, `{"contents":[]}`},
		{MethodToolsList, `{"nextCursor":"","ttlMs":null,"tools":[]}`, `{"nextCursor":"","tools":[]}`},
		{MethodCompletionComplete, `{"completion":{"values":[]}}`, ``},
		{MethodPing, `{"resultType":"complete"}`, `{}`}, // TypeScript v1 rejects a ping result other than {}
		{MethodOther, `{"resultType":"complete","structuredContent":3}`, `{"structuredContent":3}`},
	}
	for _, c := range cases {
		f, r := scannedResult(t, answer(c.have))
		if c.want == "" {
			c.want = c.have
		}
		got := string(rawjson.AppendEdited(nil, f.Raw, ToLegacyResult(nil, c.m, f, r)...))
		if got != answer(c.want) {
			t.Errorf("%v %s:\ngot  %s\nwant %s", c.m, c.have, got, answer(c.want))
		}
	}
}

func TestKindOf(t *testing.T) {
	cases := []struct {
		m      Method
		result string
		want   ResultKind
	}{
		{MethodToolsCall, `{}`, ResultComplete}, {MethodToolsCall, `{"resultType":"complete"}`, ResultComplete},
		{MethodToolsCall, `{"resultType":"input_required","inputRequests":{}}`, ResultInputRequired},
		{MethodToolsCall, `{"resultType":"input\u005frequired","requestState":"s"}`, ResultInputRequired},
		{MethodToolsCall, `{"resultType":"input_required"}`, ResultUnknown},
		{MethodCompletionComplete, `{"resultType":"input_required","requestState":"s"}`, ResultUnknown},
		{MethodToolsCall, `{"requestState":"s","inputRequests":{}}`, ResultInputRequired}, // from go-sdk servers, without resultType
		{MethodToolsCall, `{"requestState":"s","content":[]}`, ResultComplete},
		{MethodOther, `{"requestState":"s"}`, ResultComplete},
		{MethodToolsCall, `{"resultType":"task","taskId":"t"}`, ResultTask}, {MethodPromptsGet, `{"resultType":"task"}`, ResultUnknown},
		{MethodToolsCall, `{"resultType":"later"}`, ResultUnknown}, {MethodToolsCall, `{"resultType":7}`, ResultUnknown},
	}
	for _, c := range cases {
		f, r := scannedResult(t, answer(c.result))
		if got := r.KindOf(c.m, f); got != c.want {
			t.Errorf("%v %s: %d, want %d", c.m, c.result, got, c.want)
		}
	}
}

func TestRelayInputRequired(t *testing.T) {
	cases := []struct{ have, state, want string }{
		{`{"resultType":"input_required","inputRequests":{"k":{}},"requestState":"theirs"}`, "ours", `{` + serverMeta + `,"resultType":"input_required","inputRequests":{"k":{}},"requestState":"ours"}`},
		{`{"inputRequests":{"k":{}},"content":null,"isError":false}`, "ours", `{"resultType":"input_required","requestState":"ours",` + serverMeta + `,"inputRequests":{"k":{}}}`},
		{`{"content":null,"requestState":"theirs","resultType":"input_required","_meta":{"a":1}}`, "", `{"resultType":"input_required","_meta":{"io.modelcontextprotocol/serverInfo":` + testServer + `,"a":1}}`},
		{`{"requestState":"s","_meta":null,"resultType":null}`, `a"b`, `{"resultType":"input_required",` + serverMeta + `,"requestState":"a\"b"}`},
	}
	for _, c := range cases {
		f, r := scannedResult(t, answer(c.have))
		got := string(rawjson.AppendEdited(nil, f.Raw, RelayInputRequired(nil, f, r, c.state, []byte(testServer))...))
		if got != answer(c.want) {
			t.Errorf("%s:\ngot  %s\nwant %s", c.have, got, answer(c.want))
		}
	}
}

var resultKeysTouched = []string{"resultType", "ttlMs", "cacheScope", "content", "_meta", "structuredContent"}

// Any result translated for a modern client and back for a legacy one is valid JSON without repeated keys of the gateway, and
// everything else is unchanged and in its place.
func FuzzResultTranslation(f *testing.F) {
	for _, s := range []string{`{"content":[{"type":"text","text":"x"}]}`, `{"structuredContent":[1],"content":null,"z":1}`, `{ }`, `{"resultType":null,"_meta":{"a":1},"TTLMs":3}`, `{"contents":[],"ttlMs":1}`, `{"inputRequests":{"k":{"method":"roots/list"}},"requestState":"s","content":null}`} {
		for _, m := range []Method{MethodToolsCall, MethodResourcesRead, MethodOther} {
			f.Add(s, uint8(m))
		}
	}
	f.Fuzz(func(t *testing.T, result string, method uint8) {
		m := Method(method) % methodCount
		var frame, modern, legacy Frame
		var r, mr, lr ResultInfo
		if frame.Parse([]byte(answer(result))) != nil || frame.Kind != KindResult || r.Scan(&frame) != nil {
			return
		}
		scan := func(f *Frame, r *ResultInfo, raw []byte) {
			if err := f.Parse(raw); err != nil {
				t.Fatalf("%v %s became %s: %v", m, result, raw, err)
			}
			if err := r.Scan(f); err != nil {
				t.Fatalf("%v %s became %s: %v", m, result, raw, err)
			}
			compare(t, frame.Raw, raw, frame.ResultBytes(), f.ResultBytes(), resultKeysTouched...)
		}
		scan(&modern, &mr, rawjson.AppendEdited(nil, frame.Raw, ToModernResult([]rawjson.Edit{{Span: frame.ID, With: []byte("2")}}, m, &frame, &r, []byte(testServer))...))
		if !mr.ResultType.Present() || m.is(cached) && mr.KindOf(m, &modern) == ResultComplete && !mr.TTL.Present() {
			t.Fatalf("%v %s became %s", m, result, modern.Raw)
		}
		if r.Content.Present() && string(r.Content.Of(frame.Raw)) != string(mr.Content.Of(modern.Raw)) {
			t.Fatalf("%v %s became %s: other content", m, result, modern.Raw)
		}
		if mr.KindOf(m, &modern) == ResultInputRequired {
			checkRelayed(t, &modern, &mr)
			return
		}
		scan(&legacy, &lr, rawjson.AppendEdited(nil, modern.Raw, ToLegacyResult(nil, m, &modern, &mr)...))
		if lr.ResultType.Present() || lr.TTL.Present() || lr.CacheScope.Present() {
			t.Fatalf("%v %s became %s", m, modern.Raw, legacy.Raw)
		}
		if s := lr.Structured.Of(legacy.Raw); m == MethodToolsCall && (s != nil && s[0] != '{' || !lr.Content.Present()) {
			t.Fatalf("%v %s became %s", m, modern.Raw, legacy.Raw)
		}
	})
}

// checkRelayed checks that only the four members of an input_required result are relayed.
func checkRelayed(t *testing.T, f *Frame, r *ResultInfo) {
	t.Helper()
	raw := rawjson.AppendEdited(nil, f.Raw, RelayInputRequired(nil, f, r, "ours", []byte(testServer))...)
	var relayed Frame
	if err := relayed.Parse(raw); err != nil {
		t.Fatalf("%s became %s: %v", f.Raw, raw, err)
	}
	allowed := []string{"resultType", "inputRequests", "requestState", "_meta"}
	members := referenceMembers(relayed.ResultBytes())
	for i, m := range members {
		if !slices.Contains(allowed, m.key) || slices.ContainsFunc(members[:i], func(o pair) bool { return o.key == m.key }) {
			t.Fatalf("%s became %s: %q", f.Raw, raw, m.key)
		}
	}
}

func TestAppendInputRequired(t *testing.T) {
	requests := []InputRequest{{"q1", []byte(`{"method":"roots/list"}`)}, {`q"2`, []byte(`{"method":"elicitation/create","params":{}}`)}}
	want := `{"jsonrpc":"2.0","id":"x","result":{"resultType":"input_required","inputRequests":{"q1":{"method":"roots/list"},"q\"2":{"method":"elicitation/create","params":{}}},"requestState":"s",` + serverMeta + `}}`
	if got := string(AppendInputRequired(nil, []byte(`"x"`), requests, "s", []byte(testServer))); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	want = `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}`
	if got := string(AppendInputRequired(nil, []byte("1"), nil, "s", nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestItemsBetweenEras(t *testing.T) {
	cases := []struct{ item, legacy, modern string }{ // "" = unchanged
		{`{"name":"a","inputSchema":{"type":"object"}}`, "", ""},
		{`{"name":"a","outputSchema":{"type":"object","properties":{"x":true,"y":{"properties":{"z":true}}}}}`, `{"name":"a","outputSchema":{"type":"object","properties":{"x":{},"y":{"properties":{"z":true}}}}}`, ""},
		{`{"outputSchema":{"type":"array"},"name":"a"}`, `{"name":"a"}`, ""},
		{`{"name":"a","outputSchema":{"oneOf":[]}}`, `{"name":"a"}`, ""},
		{`{"name":"a","outputSchema":true}`, `{"name":"a"}`, ""},
		{`{"name":"a","inputSchema":{"properties":{"x":true,"y":false}},"outputSchema":{"type":["object"]}}`, `{"name":"a","inputSchema":{"properties":{"x":{},"y":{"not":{}}}}}`, ""},
		{`{"name":"a","execution":{"taskSupport":"optional"},"x":1}`, "", `{"name":"a","x":1}`},
		{`{"name":"a","ex\u0065cution":{}}`, "", `{"name":"a"}`},
		{`{"name":"execution","description":"execution"}`, "", ""},
	}
	for _, c := range cases {
		check := func(what string, got []byte, want string) {
			if want == "" {
				want = c.item
			}
			if string(got) != want || !json.Valid(got) {
				t.Errorf("%s(%s) = %s, want %s", what, c.item, got, want)
			}
		}
		check("LegacyItem", LegacyItem(Tools, []byte(c.item)), c.legacy)
		check("ModernItem", ModernItem(Tools, []byte(c.item)), c.modern)
		check("LegacyItem", LegacyItem(Prompts, []byte(c.item)), "")
		check("ModernItem", ModernItem(Resources, []byte(c.item)), "")
	}
}

func TestLargeResultIsNotWalkedAgain(t *testing.T) {
	text := rawjson.Quote(strings.Repeat(`{"a":[1,2]}`, 1000))
	f, r := scannedResult(t, answer(`{"content":[{"type":"text","text":`+string(text)+`}],"structuredContent":{"a":`+string(text)+`},"resultType":"complete"}`))
	got := rawjson.AppendEdited(nil, f.Raw, ToLegacyResult(nil, MethodToolsCall, f, r)...)
	if bytes.Contains(got, []byte("resultType")) || !json.Valid(got) {
		t.Error("resultType is still there")
	}
}
