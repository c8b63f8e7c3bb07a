package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"goblin-actor/protocol/rawjson"
)

func mustParse(t testing.TB, raw string) *Frame {
	t.Helper()
	var f Frame
	if err := f.Parse([]byte(raw)); err != nil {
		t.Fatalf("Parse(%s): %v", raw, err)
	}
	return &f
}

func call(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
}

// present returns the members of a Params, ResultInfo or Item that are present, by field name.
func present(v any, raw []byte) map[string]string {
	out := map[string]string{}
	r := reflect.ValueOf(v).Elem()
	for i := range r.NumField() {
		if span, ok := r.Field(i).Interface().(rawjson.Span); ok && span.Present() {
			out[r.Type().Field(i).Name] = string(span.Of(raw))
		}
	}
	return out
}

func TestParamsScan(t *testing.T) {
	cases := []struct {
		method, params string
		want           map[string]string
	}{
		{"tools/call", `{"name":"read","arguments":{"name":"inner","n":1e3},"_meta":{"progressToken":7,"traceparent":"00-"}}`,
			map[string]string{"Name": `"read"`, "Arguments": `{"name":"inner","n":1e3}`, "Meta": `{"progressToken":7,"traceparent":"00-"}`, "ProgressToken": "7"}},
		{"tools/call", `{"n\u0061me":"x","\u005fmeta":{"progress\u0054oken":"t"}}`,
			map[string]string{"Name": `"x"`, "Meta": `{"progress\u0054oken":"t"}`, "ProgressToken": `"t"`}},
		{"tools/call", `{"name":"x","arguments":null,"_meta":null}`, map[string]string{"Name": `"x"`}},
		{"tools/call", `[ "x" ]`, map[string]string{}},
		{"tools/call", ` { } `, map[string]string{}},
		{"tools/list", `{"cursor":""}`, map[string]string{"Cursor": `""`}},
		{"completion/complete", `{"ref":{"type":"ref/resource","uri":"a{x}"},"argument":{"name":"x","value":""}}`, map[string]string{"RefURI": `"a{x}"`}},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"p"},"name":"top"}`, map[string]string{"RefName": `"p"`, "Name": `"top"`}},
		{"notifications/cancelled", `{"requestId":9007199254740993,"reason":"}]\""}`, map[string]string{"RequestID": "9007199254740993"}},
		{"notifications/progress", `{"progressToken":"a\"b","progress":0.5}`, map[string]string{"Token": `"a\"b"`}},
		{"logging/setLevel", `{"level":"debug"}`, map[string]string{"Level": `"debug"`}},
		{"initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c"}}`,
			map[string]string{"Version": `"2025-11-25"`, "Capabilities": `{}`, "ClientInfo": `{"name":"c"}`}},
		{"tasks/update", `{"taskId":"t","inputResponses":{},"requestState":"s","notifications":{}}`,
			map[string]string{"TaskID": `"t"`, "InputResponses": "{}", "RequestState": `"s"`, "Notifications": "{}"}},
		{"resources/read", `{"uri":"x://y","_meta":{"projectId":"old","goblin-actor/project":"new","goblin-actor/prefer":{"required":true}}}`,
			map[string]string{"URI": `"x://y"`, "Project": `"new"`, "ProjectID": `"old"`, "Prefer": `{"required":true}`, "Meta": `{"projectId":"old","goblin-actor/project":"new","goblin-actor/prefer":{"required":true}}`}},
		{"resources/read", `{"_meta":{"projectId":"old"}}`, map[string]string{"ProjectID": `"old"`, "Meta": `{"projectId":"old"}`}},
		{"tools/list", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"a":{}},"io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/logLevel":"info","io.modelcontextprotocol/subscriptionId":"s"}}`,
			map[string]string{"MetaVersion": `"2026-07-28"`, "MetaCapabilities": `{"a":{}}`, "MetaClientInfo": "{}", "MetaLogLevel": `"info"`, "SubscriptionID": `"s"`, "Meta": "…"}},
		// An unknown method may use the names in other ways.
		{"vendor/method", `{"name":5,"uri":{},"_meta":[]}`, map[string]string{}},
		{"vendor/method", `{"_meta":{"projectId":5}}`, map[string]string{"Meta": `{"projectId":5}`}},
	}
	for _, c := range cases {
		f := mustParse(t, call(c.method, c.params))
		var p Params
		if err := p.Scan(f); err != nil {
			t.Errorf("Scan(%s): %v", c.params, err)
			continue
		}
		got := present(&p, f.Raw)
		if c.want["Meta"] == "…" {
			c.want["Meta"] = got["Meta"]
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("Scan(%s)\n got %v\nwant %v", c.params, got, c.want)
		}
	}
}

func TestParamsRefused(t *testing.T) {
	cases := []struct {
		params string
		want   error
	}{
		{`{"name":"a","name":"b"}`, ErrDuplicate},
		{`{"name":"a","n\u0061me":"b"}`, ErrDuplicate},
		{`{"name":"a","Name":"b"}`, ErrDuplicate},
		{`{"NAME":"a","name":"b"}`, ErrDuplicate},
		{`{"name":null,"name":"b"}`, ErrDuplicate},
		{`{"arguments":{},"argumentſ":{}}`, ErrDuplicate},
		{`{"_meta":{"progressToken":1,"progresſTo\u212Aen":2}}`, ErrDuplicate},
		{`{"ref":{"uri":"a","uri":"b"}}`, ErrDuplicate},
		{`{"_meta":{"goblin-actor/project":"a","goblin-actor\/project":"b"}}`, ErrDuplicate},
		{`{"name":5}`, ErrShape},
		{`{"arguments":[]}`, ErrShape},
		{`{"_meta":"x"}`, ErrShape},
		{`{"_meta":{"progressToken":1.5}}`, ErrShape},
		{`{"_meta":{"progressToken":true}}`, ErrShape},
		{`{"requestId":{}}`, ErrShape},
	}
	for _, c := range cases {
		var p Params
		err := p.Scan(mustParse(t, call("tools/call", c.params)))
		if !errors.Is(err, c.want) || ErrorCode(err) != -32602 {
			t.Errorf("Scan(%s) = %v (code %d), want %v", c.params, err, ErrorCode(err), c.want)
		}
	}
	var p Params
	if err := p.Scan(mustParse(t, call("tools/call", `{"Name":"a","other":1,"other":2}`))); err != nil || p.Name.Present() {
		t.Errorf("a member Name was taken for name: %v, %v", err, p.Name)
	}
}

// Every Span of the three structs is found under its key, and every key is recognized plainly and in other spellings.
func TestKeyTables(t *testing.T) {
	for _, table := range []*keyTable{paramKeys, refKeys, metaKeys, resultKeys, itemKeys} {
		for f, name := range table.names[1:] {
			if got := table.find([]byte(name)); int(got) != f+1 {
				t.Errorf("find(%q) = %d, want %d", name, got, f+1)
			}
			if len(name) > rawjson.FoldedLength {
				t.Errorf("%q is longer than what is folded", name)
			}
			escaped := fmt.Sprintf(`\u%04x%s`, name[0], strings.ReplaceAll(name[1:], "/", `\/`))
			if f2, spelled := table.unusual([]byte(escaped)); int(spelled) != f+1 || f2 != spelled {
				t.Errorf("unusual(%q) = %d, %d", escaped, f2, spelled)
			}
		}
	}
	spans := func(v any) int { return len(slices.Collect(spanFields(v))) }
	if got := len(paramKeys.names) + len(refKeys.names) + len(metaKeys.names) - 3; got != spans(Params{})+1 { // ref
		t.Errorf("%d keys for %d fields of Params", got, spans(Params{}))
	}
	if len(resultKeys.names)-1 != spans(ResultInfo{}) || len(itemKeys.names)-1 != spans(Item{}) {
		t.Error("keys and fields of ResultInfo or Item differ in number")
	}
}

func spanFields(v any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			if f.Type == reflect.TypeFor[rawjson.Span]() && !yield(f.Name) {
				return
			}
		}
	}
}

func TestResultScan(t *testing.T) {
	const raw = `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","nextCursor":"c","ttlMs":5,"cacheScope":"public","_meta":{},"inputRequests":{},
		"requestState":"s","tools":[1],"prompts":[2],"resources":[3],"resourceTemplates":[4],"contents":[5],"content":[6],"messages":[7],
		"protocolVersion":"v","capabilities":{},"serverInfo":{},"instructions":"i","supportedVersions":["w"],"more":{"tools":[]}}}`
	f := mustParse(t, raw)
	var r ResultInfo
	if err := r.Scan(f); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"ResultType": `"complete"`, "NextCursor": `"c"`, "TTL": "5", "CacheScope": `"public"`, "Meta": "{}", "InputRequests": "{}",
		"RequestState": `"s"`, "Tools": "[1]", "Prompts": "[2]", "Resources": "[3]", "Templates": "[4]", "Contents": "[5]", "Content": "[6]", "Messages": "[7]",
		"Version": `"v"`, "Capabilities": "{}", "ServerInfo": "{}", "Instructions": `"i"`, "SupportedVersions": `["w"]`}
	if got := present(&r, f.Raw); !reflect.DeepEqual(got, want) {
		t.Errorf("Scan\n got %v\nwant %v", got, want)
	}
	for text, want := range map[string]error{
		`[]`: ErrShape, `"x"`: ErrShape, `{"tools":[],"tools":[]}`: ErrDuplicate, `{"nextCursor":null,"tools":{}}`: nil,
	} {
		err := r.Scan(mustParse(t, `{"jsonrpc":"2.0","id":1,"result":`+text+`}`))
		if !errors.Is(err, want) || r.NextCursor.Present() {
			t.Errorf("Scan(%s) = %v, want %v", text, err, want)
		}
	}
}

func TestItems(t *testing.T) {
	const list = `[ {"name":"a","title":"T","description":"d]}","inputSchema":{"type":"object"},"annotations":{},"_meta":{"x":1}},
		{"uri":"u","mimeType":"m","size":3,"name":null}, 5, {"name":"x","Name":"y"}, {"uriTemplate":"{t}"} ]`
	f := mustParse(t, `{"jsonrpc":"2.0","id":1,"result":{"tools":`+list+`}}`)
	var r ResultInfo
	if err := r.Scan(f); err != nil {
		t.Fatal(err)
	}
	var got []map[string]string
	err := Items(f.Raw, r.Tools, func(i Item) bool {
		got = append(got, present(&i, i.Raw))
		return true
	})
	if !errors.Is(err, ErrShape) {
		t.Errorf("Items: error %v, want that of the first bad element", err)
	}
	want := []map[string]string{
		{"Name": `"a"`, "Title": `"T"`, "Description": `"d]}"`, "InputSchema": `{"type":"object"}`, "Annotations": "{}", "Meta": `{"x":1}`},
		{"URI": `"u"`, "MIMEType": `"m"`, "Size": "3"},
		{"URITemplate": `"{t}"`},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Items\n got %v\nwant %v", got, want)
	}
	calls := 0
	if err := Items(f.Raw, r.Tools, func(Item) bool { calls++; return false }); err != nil || calls != 1 {
		t.Errorf("Items after false: %d calls, %v", calls, err)
	}
	for _, span := range []rawjson.Span{{}, f.Result, f.ID} {
		if err := Items(f.Raw, span, func(Item) bool { return true }); !errors.Is(err, ErrShape) {
			t.Errorf("Items of no array: %v", err)
		}
	}
}

func TestMember(t *testing.T) {
	raw := []byte(`{"a":1,"b\u0063":{"a":2},"a":3}`)
	whole := rawjson.Whole(raw)
	for key, want := range map[string]string{"a": "3", "bc": `{"a":2}`, "none": ""} {
		if got := string(rawjson.Member(raw, whole, key).Of(raw)); got != want {
			t.Errorf("Member(%q) = %q, want %q", key, got, want)
		}
	}
	if rawjson.Member(raw, rawjson.Member(raw, whole, "a"), "a").Present() {
		t.Error("a number has members")
	}
}

var paramSeeds = []string{
	`{"name":"read","arguments":{"a":[1,"]",{}]},"_meta":{"progressToken":7}}`, `{"n\u0061me":"x"}`, `{"name":"a","NAME":"b"}`,
	`{"ref":{"name":"a"},"uri":"b"}`, `[1,2]`, `{"_meta":{"projectId":"p","goblin-actor/project":"q"}}`, `{"a":"\\\"","name":"b\\"}`, "{ \"name\"\n:\t\"x\" }",
}

// Scan, Member and WalkMembers find the same as encoding/json's token reader in any message. On invalid input Scan,
// ParseItem and Items end without a panic.
func FuzzParams(f *testing.F) {
	for _, s := range paramSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, params []byte) {
		var p Params
		for method := range 2 { // no result is compared here: the walk must not panic
			_ = p.Scan(&Frame{Raw: params, Params: rawjson.Whole(params), Method: Method(method)})
		}
		_, _ = ParseItem(params)
		_ = Items(append([]byte("["), params...), rawjson.Span{Off: 0, End: uint32(len(params) + 1)}, func(Item) bool { return true })
		if !referenceValid(params) {
			return
		}
		params = bytes.TrimSpace(params)
		var frame Frame
		if frame.Parse([]byte(call("tools/call", string(params)))) != nil {
			return
		}
		err := p.Scan(&frame)
		members := referenceMembers(params)
		checkMembers(t, params, members)
		seen := map[string]int{}
		for _, m := range members {
			seen[strings.ToLower(m.key)]++ // all known keys are ASCII
		}
		if err != nil {
			return
		}
		want := map[string]string{}
		for _, m := range members {
			want[m.key] = string(m.value)
		}
		for key, span := range map[string]rawjson.Span{"name": p.Name, "uri": p.URI, "cursor": p.Cursor, "arguments": p.Arguments, "_meta": p.Meta} {
			if seen[key] > 1 {
				t.Fatalf("Scan(%s): %s occurs twice, no error", params, key)
			}
			if got := string(span.Of(frame.Raw)); got != want[key] && want[key] != "null" {
				t.Fatalf("Scan(%s): %s is %q, want %q", params, key, got, want[key])
			}
		}
	})
}

// checkMembers compares Member and WalkMembers with the members that the token reader found.
func checkMembers(t *testing.T, raw []byte, members []pair) {
	t.Helper()
	whole := rawjson.Whole(raw)
	last := map[string][]byte{}
	for _, m := range members {
		last[m.key] = m.value
	}
	for key, value := range last {
		if strings.ContainsRune(key, '\uFFFD') {
			continue
		}
		if got := rawjson.Member(raw, whole, key).Of(raw); !bytes.Equal(got, value) {
			t.Fatalf("Member(%s, %q) = %q, want %q", raw, key, got, value)
		}
	}
	count := 0
	for w := rawjson.WalkMembers(raw, whole); w.Next(); count++ {
		if !bytes.Equal(w.Value.Of(raw), members[count].value) {
			t.Fatalf("member %d of %s: %q, want %q", count, raw, w.Value.Of(raw), members[count].value)
		}
	}
	if count != len(members) {
		t.Fatalf("%d members of %s, want %d", count, raw, len(members))
	}
}
