package protocol

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"goblin-actor/protocol/rawjson"
)

const v28 = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`

func TestToLegacyRequest(t *testing.T) {
	const reserved = v28 + `,"io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/logLevel":"info"`
	cases := []struct{ method, params, token, want string }{
		{"tools/call", `{"name":"a","_meta":{` + reserved + `}}`, "7", `{"name":"a","_meta":{"progressToken":7}}`},
		{"tools/call", `{"name":"a","_meta":{` + reserved + `}}`, "", `{"name":"a"}`},
		{"tools/call", `{"_meta":{` + reserved + `},"name":"a"}`, "", `{"name":"a"}`},
		{"tools/call", `{"_meta":{` + reserved + `}}`, "", `{}`},
		{"tools/call", `{"name":"a","_meta":{"progressToken":"x",` + reserved + `,"traceparent":"00"}}`, "7", `{"name":"a","_meta":{"progressToken":7,"traceparent":"00"}}`},
		{"tools/call", `{"name":"a","_meta":{` + reserved + `,"traceparent":"00","progressToken":"x"}}`, "", `{"name":"a","_meta":{"traceparent":"00","progressToken":"x"}}`},
		{"tools/call", `{"name":"a","_meta":{"vendor/x":1,` + reserved + `}}`, "7", `{"name":"a","_meta":{"progressToken":7,"vendor/x":1}}`},
		{"tools/call", `{"name":"a","_meta":{"io.modelcontextprotocol\/protocolVersion":"2026-07-28","progressToken":null}}`, "7", `{"name":"a","_meta":{"progressToken":7}}`},
		{"tools/call", `{"inputResponses":{"k":{}},"name":"a","requestState":"s","_meta":{` + reserved + `}}`, "7", `{"name":"a","_meta":{"progressToken":7}}`},
		{"prompts/get", `{"name":"a","requestState":"s","_meta":{` + reserved + `},"arguments":{"a":"b"}}`, "", `{"name":"a","arguments":{"a":"b"}}`},
		{"tasks/update", `{"taskId":"a","inputResponses":{}}`, "", `{"taskId":"a","inputResponses":{}}`},
		{"tools/call", `{"name":"a","_meta":null}`, "7", `{"_meta":{"progressToken":7},"name":"a"}`},
		{"tools/call", `{"name":"a","_Meta":{}}`, "7", `{"_meta":{"progressToken":7},"name":"a"}`},
		{"tools/call", `{"name":"a"}`, "7", `{"_meta":{"progressToken":7},"name":"a"}`},
		{"tools/call", `{}`, "7", `{"_meta":{"progressToken":7}}`},
		{"vendor/x", `[1]`, "7", `[1]`},
	}
	for _, c := range cases {
		f, p := scanned(t, call(c.method, c.params))
		var token []byte
		if c.token != "" {
			token = []byte(c.token)
		}
		got := string(rawjson.AppendEdited(nil, f.Raw, ToLegacyRequest(nil, f, p, token)...))
		if want := call(c.method, c.want); got != want {
			t.Errorf("%s %s:\ngot  %s\nwant %s", c.method, c.params, got, want)
		}
	}
}

func TestToModernRequest(t *testing.T) {
	const caps = `,"io.modelcontextprotocol/clientCapabilities":`
	meta := ModernMeta{Token: []byte("7"), ClientInfo: []byte(`{"name":"c"}`), Capabilities: []byte(`{"roots":{}}`), LogLevel: "warning"}
	const full = v28 + caps + `{"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"c"},"io.modelcontextprotocol/logLevel":"warning"`
	retry := ModernMeta{InputResponses: []byte(`{"k":1}`), RequestState: []byte(`"theirs"`)}
	cases := []struct {
		method, params string
		meta           ModernMeta
		want           string
	}{
		{"tools/call", `{"name":"a"}`, meta, `{"_meta":{` + full + `,"progressToken":7},"name":"a"}`},
		{"tools/call", `{"name":"a"}`, ModernMeta{}, `{"_meta":{` + v28 + caps + `{}},"name":"a"}`},
		{"tools/call", ``, ModernMeta{LogLevel: "?"}, `{"_meta":{` + v28 + caps + `{}}}`},
		{"tools/call", `{"name":"a","_meta":{"progressToken":"x","vendor/x":1}}`, meta, `{"name":"a","_meta":{` + full + `,"progressToken":7,"vendor/x":1}}`},
		{"tools/call", `{"name":"a","_meta":{"progressToken":"x"}}`, ModernMeta{}, `{"name":"a","_meta":{` + v28 + caps + `{},"progressToken":"x"}}`},
		{"tools/call", `{"task":{"ttl":1},"name":"a","_meta":{"io.modelcontextprotocol/related-task":{}}}`, ModernMeta{}, `{"name":"a","_meta":{` + v28 + caps + `{}}}`},
		{"tools/call", `{"name":"a","task":{}}`, ModernMeta{}, `{"_meta":{` + v28 + caps + `{}},"name":"a"}`},
		{"tools/call", `{"name":"a","_meta":null,"requestState":"forged"}`, ModernMeta{}, `{"_meta":{` + v28 + caps + `{}},"name":"a"}`},
		{"tools/call", `{"name":"a","_META":{},"RequestState":"forged"}`, ModernMeta{}, `{"_meta":{` + v28 + caps + `{}},"name":"a"}`},
		{"tools/call", `{"name":"a"}`, retry, `{"_meta":{` + v28 + caps + `{}},"inputResponses":{"k":1},"requestState":"theirs","name":"a"}`},
		{"tools/call", `{"name":"a","requestState":"ours","inputResponses":{"k":1},` + testMeta + `}`, retry, `{"name":"a","requestState":"theirs","inputResponses":{"k":1},` + testMeta + `}`},
		{"tools/call", `{"name":"a",` + testMeta + `,"task":1}`, ModernMeta{}, `{"name":"a",` + testMeta + `,"task":1}`},
		{"tools/call", `{"name":"a","_meta":{"io.modelcontextprotocol/logLevel":"info",` + v28 + caps + `{"x":1}}}`, meta, `{"name":"a","_meta":{"io.modelcontextprotocol/clientInfo":{"name":"c"},"progressToken":7,"io.modelcontextprotocol/logLevel":"warning",` + v28 + caps + `{"roots":{}}}}`},
		{"tools/call", `{"name":"a","_meta":{"io.modelcontextprotocol/logLevel":"info",` + v28 + caps + `{}}}`, ModernMeta{}, `{"name":"a","_meta":{` + v28 + caps + `{}}}`},
		{"tasks/update", `{"taskId":"a","inputResponses":{},` + testMeta + `}`, ModernMeta{}, `{"taskId":"a","inputResponses":{},` + testMeta + `}`},
		{"vendor/x", `{"task":1,"requestState":2}`, retry, `{"_meta":{` + v28 + caps + `{}},"task":1,"requestState":2}`},
		{"vendor/x", `[1]`, meta, `[1]`},
	}
	for _, c := range cases {
		raw := call(c.method, c.params)
		if c.params == "" {
			raw = `{"jsonrpc":"2.0","method":"` + c.method + `","id":1}`
		}
		f, p := scanned(t, raw)
		got := string(rawjson.AppendEdited(nil, f.Raw, ToModernRequest(nil, f, p, &c.meta)...))
		want := call(c.method, c.want)
		if c.params == "" {
			want = `{"jsonrpc":"2.0","method":"` + c.method + `","params":` + c.want + `,"id":1}`
		}
		if got != want {
			t.Errorf("%s %s:\ngot  %s\nwant %s", c.method, c.params, got, want)
		}
	}
}

// B.3.4: the retry has a new id, the same params, the responses, and the exact state.
func TestAppendRetry(t *testing.T) {
	f, p := scanned(t, call("tools/call", `{"name":"files_a","arguments":{"x":1}}`))
	edits := []rawjson.Edit{{Span: f.ID, With: []byte("9")}, {Span: p.Name, With: []byte(`"a"`)}}
	responses := []InputResponse{{[]byte(`"k"`), []byte(`{"action":"accept"}`)}, {[]byte(`"\u006c"`), []byte(`{"roots":[]}`)}}
	got := string(AppendRetry(nil, f, p, ModernMeta{Token: []byte("9")}, responses, []byte(`"st\/ate"`), edits...))
	want := strings.Replace(call("tools/call", `{"_meta":{`+v28+`,"io.modelcontextprotocol/clientCapabilities":{},"progressToken":9},`+
		`"inputResponses":{"k":{"action":"accept"},"\u006c":{"roots":[]}},"requestState":"st\/ate","name":"a","arguments":{"x":1}}`), `"id":1`, `"id":9`, 1)
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	got = string(AppendRetry(nil, f, p, ModernMeta{}, nil, nil))
	if strings.Contains(got, "inputResponses") || strings.Contains(got, "requestState") {
		t.Errorf("a retry without responses and state: %s", got)
	}
}

func TestAppendMeta(t *testing.T) {
	meta := ModernMeta{ClientInfo: []byte(`{"name":"g"}`), LogLevel: "debug", Token: []byte("3")}
	want := `{` + v28 + `,"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"g"},"io.modelcontextprotocol/logLevel":"debug","progressToken":3}`
	if got := string(meta.AppendMeta(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// bridgeKeys lists the keys that a translation of requests may change.
var bridgeKeys = []string{"_meta", "inputResponses", "requestState", "task"}

// Any request translated for a modern server and back for a legacy one, with the backend's edits in the same
// AppendEdited call, is valid JSON without repeated keys. It has the wanted values, and every other byte is unchanged
// and in its place.
func FuzzRequestTranslation(f *testing.F) {
	seeds := []string{
		`{"name":"a","arguments":{"x":[1,2.0]}}`, `{ "_meta" : { "progressToken" : 1 , "v/x":[ ] } , "name":"a" }`, `{"_meta":null,"name":"a","task":{}}`, `{}`, ``,
		`{"name":"a",` + testMeta + `,"requestState":"x","inputResponses":{}}`, `{"_Meta":{},"Task":1,"name":"a"}`, `[]`, "{\n\"z\":1\n}", `{"_meta":{"io.modelcontextprotocol\/x":1,"ProgressToken":3}}`,
	}
	for _, s := range seeds {
		f.Add("tools/call", s, true)
		f.Add("vendor/x", s, false)
	}
	f.Fuzz(func(t *testing.T, method, params string, whole bool) {
		var frame Frame
		var p Params
		raw := `{"jsonrpc":"2.0","id":1,"method":` + string(rawjson.Quote(method)) + `,"x":[1, 2]}`
		if params != "" {
			raw = call2(method, params)
		}
		if frame.Parse([]byte(raw)) != nil || frame.Kind != KindRequest || p.Scan(&frame) != nil {
			return
		}
		meta := ModernMeta{Token: []byte("7")}
		if whole {
			meta = ModernMeta{Token: []byte(`"t"`), ClientInfo: []byte(`{"name":"c"}`), Capabilities: []byte(`{"roots":{}}`), LogLevel: "info", InputResponses: []byte(`{"k":{}}`), RequestState: []byte(`"s"`)}
		}
		edits := []rawjson.Edit{{Span: frame.ID, With: []byte("2")}}
		if p.Name.Present() {
			edits = append(edits, rawjson.Edit{Span: p.Name, With: []byte(`"other"`)})
		}
		modern := rawjson.AppendEdited(nil, frame.Raw, ToModernRequest(edits, &frame, &p, &meta)...)
		var mf Frame
		var mp Params
		checkTranslated(t, &frame, modern, &mf, &mp)
		if array := strings.HasPrefix(params, "["); !array && (string(mp.MetaVersion.Of(modern)) != `"2026-07-28"` || string(mp.ProgressToken.Of(modern)) != string(meta.Token) ||
			whole && string(mp.MetaClientInfo.Of(modern)) != `{"name":"c"}` || mf.Method.MayRequireInput() && string(mp.RequestState.Of(modern)) != string(meta.RequestState)) {
			t.Fatalf("%s became %s", raw, modern)
		}
		edits = append(edits[:0], rawjson.Edit{Span: mf.ID, With: []byte("3")})
		legacy := rawjson.AppendEdited(nil, modern, ToLegacyRequest(edits, &mf, &mp, []byte("8"))...)
		var lf Frame
		var lp Params
		checkTranslated(t, &frame, legacy, &lf, &lp)
		if bytes.Contains(lp.Meta.Of(legacy), []byte(reservedPrefix)) && !bytes.Contains(frame.Raw, []byte(reservedPrefix)) {
			t.Fatalf("%s became %s", modern, legacy)
		}
	})
}

func call2(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":` + string(rawjson.Quote(method)) + `,"params":` + params + `,"x":[1, 2]}`
}

// checkTranslated parses raw, the translation of from, and compares the members that a translation must not change.
func checkTranslated(t *testing.T, from *Frame, raw []byte, f *Frame, p *Params) {
	t.Helper()
	if err := f.Parse(raw); err != nil {
		t.Fatalf("%s became %s: %v", from.Raw, raw, err)
	}
	if err := p.Scan(f); err != nil {
		t.Fatalf("%s became %s: %v", from.Raw, raw, err)
	}
	compare(t, from.Raw, raw, from.Raw, raw, "id", "params")
	if before := from.ParamsBytes(); len(before) > 0 && before[0] == '{' {
		compare(t, from.Raw, raw, before, f.ParamsBytes(), append(bridgeKeys, "name")...)
	}
	var was Params
	if was.Scan(from) == nil && was.Meta.Present() && p.Meta.Present() {
		compare(t, from.Raw, raw, was.Meta.Of(from.Raw), p.Meta.Of(raw), "progressToken")
	}
	for _, object := range [][]byte{f.ParamsBytes(), p.Meta.Of(raw)} {
		if p.Odd || len(object) == 0 || object[0] != '{' {
			continue
		}
		for i, m := range referenceMembers(object) {
			for _, other := range referenceMembers(object)[:i] {
				if strings.EqualFold(m.key, other.key) && (slices.Contains(bridgeKeys, m.key) || strings.HasPrefix(m.key, reservedPrefix)) && f.Method == MethodToolsCall {
					t.Fatalf("%s became %s: %q twice", from.Raw, raw, m.key)
				}
			}
		}
	}
}

// compare checks that two objects have the same members in the same order. It skips members with reserved keys and those
// whose keys the argument but lists.
func compare(t *testing.T, from, to, a, b []byte, but ...string) {
	t.Helper()
	rest := func(object []byte) []pair {
		return slices.DeleteFunc(referenceMembers(object), func(m pair) bool {
			folded := strings.ReplaceAll(strings.ToLower(m.key), "ſ", "s")
			return strings.HasPrefix(folded, reservedPrefix) || slices.ContainsFunc(but, func(key string) bool { return strings.EqualFold(key, m.key) })
		})
	}
	same := func(a, b pair) bool { return a.key == b.key && bytes.Equal(a.value, b.value) }
	if !slices.EqualFunc(rest(a), rest(b), same) {
		t.Fatalf("%s became %s: other members differ", from, to)
	}
}
