package protocol

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func toolWith(schema string) []byte {
	return []byte(`{"name":"t","inputSchema":` + schema + `}`)
}

func TestCompileBindings(t *testing.T) {
	property := func(p string) string { return `{"type":"object","properties":{"a":` + p + `}}` }
	cases := []struct{ name, schema, err string }{ // err "" = valid
		{"string", property(`{"type":"string","x-mcp-header":"A"}`), ""},
		{"integer", property(`{"type":"integer","x-mcp-header":"A"}`), ""},
		{"boolean", property(`{"x-mcp-header":"A-b_C.9","type":"boolean"}`), ""},
		{"or null", property(`{"type":["string","null"],"x-mcp-header":"A"}`), ""},
		{"nested", property(`{"type":"object","properties":{"b":{"type":"string","x-mcp-header":"A"}}}`), ""},
		{"escaped key", property(`{"type":"string","x-mcp-h\u0065ader":"A"}`), ""},
		{"in data", property(`{"type":"string","default":{"x-mcp-header":1},"enum":[{"x-mcp-header":1}]}`), "none"},
		{"a property named x-mcp-header", `{"type":"object","properties":{"x-mcp-header":{"type":"string"}}}`, "none"},
		{"number", property(`{"type":"number","x-mcp-header":"A"}`), "only the types"},
		{"object", property(`{"type":"object","x-mcp-header":"A"}`), "only the types"},
		{"array", property(`{"type":"array","x-mcp-header":"A"}`), "only the types"},
		{"no type", property(`{"x-mcp-header":"A"}`), "only the types"},
		{"null only", property(`{"type":["null"],"x-mcp-header":"A"}`), "only the types"},
		{"mixed", property(`{"type":["string","object"],"x-mcp-header":"A"}`), "only the types"},
		{"empty", property(`{"type":"string","x-mcp-header":""}`), "non-empty string"},
		{"no string", property(`{"type":"string","x-mcp-header":7}`), "non-empty string"},
		{"space", property(`{"type":"string","x-mcp-header":"a b"}`), "not a valid header name"},
		{"colon", property(`{"type":"string","x-mcp-header":"a:b"}`), "not a valid header name"},
		{"line feed", property(`{"type":"string","x-mcp-header":"a\nb"}`), "not a valid header name"},
		{"not ASCII", property(`{"type":"string","x-mcp-header":"é"}`), "not a valid header name"},
		{"key twice", property(`{"type":"string","x-mcp-header":"a","x-mcp-header":"b"}`), "twice"},
		{"same name", `{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`, "twice"},
		{"property twice", `{"properties":{"a":{"type":"string","x-mcp-header":"A"},"a":{"type":"string","x-mcp-header":"B"}}}`, "twice"},
		{"properties twice", `{"properties":{"a":{"type":"string","x-mcp-header":"A"}},"properties":{}}`, "twice"},
		{"root", `{"type":"string","x-mcp-header":"A"}`, "root"},
		{"in items", property(`{"type":"array","items":{"type":"string","x-mcp-header":"A"}}`), "parents are all properties"},
		{"in prefixItems", property(`{"prefixItems":[{"type":"string","x-mcp-header":"A"}]}`), "parents are all properties"},
		{"in oneOf", `{"oneOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`, "parents are all properties"},
		{"in then", `{"then":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`, "parents are all properties"},
		{"in $defs", `{"$defs":{"a":{"type":"string","x-mcp-header":"A"}},"properties":{"a":{"$ref":"#/$defs/a"}}}`, "parents are all properties"},
		{"in additionalProperties", `{"additionalProperties":{"type":"string","x-mcp-header":"A"}}`, "parents are all properties"},
		{"deep", strings.Repeat(`{"properties":{"a":`, 70) + `{"type":"string","x-mcp-header":"A"}` + strings.Repeat("}}", 70), "too deep"},
	}
	for _, c := range cases {
		b, err := CompileBindings(toolWith(c.schema))
		switch {
		case c.err == "none":
			if b != nil || err != nil {
				t.Errorf("%s: %v, %v, want none", c.name, b, err)
			}
		case c.err == "":
			if b == nil || err != nil {
				t.Errorf("%s: %v, %v", c.name, b, err)
			}
		case err == nil || !strings.Contains(err.Error(), c.err):
			t.Errorf("%s: error %v, want %q", c.name, err, c.err)
		}
	}
}

func TestManyBindings(t *testing.T) {
	var many []string
	for i := range MaxBindings + 1 {
		many = append(many, fmt.Sprintf(`"p%d":{"type":"string","x-mcp-header":"h%d"}`, i, i))
	}
	if _, err := CompileBindings(toolWith(`{"properties":{` + strings.Join(many, ",") + `}}`)); err == nil {
		t.Error("65 bindings are compiled")
	}
	if b, err := CompileBindings(toolWith(`{"properties":{` + strings.Join(many[:MaxBindings], ",") + `}}`)); err != nil || len(b.headers) != MaxBindings {
		t.Errorf("64 bindings: %v", err)
	}
}

func mustCompile(t testing.TB) *Bindings {
	t.Helper()
	b, err := CompileBindings(toolWith(`{"type":"object","properties":{
		"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"},"on":{"type":"boolean","x-mcp-header":"On"},
		"where":{"type":"object","properties":{"zone":{"type":"string","x-mcp-header":"Zone"}}},"query":{"type":"string"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// H13: which arguments headers must repeat, and how they are encoded.
func TestBindings(t *testing.T) {
	b := mustCompile(t)
	cases := []struct {
		args    string
		headers []string // as a client sends them, in the order of the schema
		fault   string   // "" = they agree
	}{
		{`{}`, nil, ""}, {``, nil, ""},
		{`{"query":"x"}`, nil, ""},
		{`{"region":"us-west1","n":42,"on":true,"where":{"zone":"b"}}`, []string{"Mcp-Param-Region: us-west1", "Mcp-Param-N: 42", "Mcp-Param-On: true", "Mcp-Param-Zone: b"}, ""},
		{`{"region":"Hello, 世界","on":false}`, []string{"Mcp-Param-Region: =?base64?SGVsbG8sIOS4lueVjA==?=", "Mcp-Param-On: false"}, ""},
		{`{"region":null,"where":null}`, nil, ""},
		{`{"n":42.0}`, []string{"Mcp-Param-N: 42"}, ""}, {`{"n":-7}`, []string{"Mcp-Param-N: -7"}, ""}, {`{"n":4.2e1}`, []string{"Mcp-Param-N: 42"}, ""},
		{`{"n":9007199254740991}`, []string{"Mcp-Param-N: 9007199254740991"}, ""},
		{`{"r\u0065gion":"\u0061"}`, []string{"Mcp-Param-Region: a"}, ""},
		{`{"region":"a"}`, nil, "missing"},
		{`{"region":"a"}`, []string{"Mcp-Param-Region: b"}, "does not match"},
		{`{"region":"a"}`, []string{"Mcp-Param-Region: =?base64?YQ?="}, "malformed"},
		{`{"region":"é"}`, []string{"Mcp-Param-Region: é"}, "malformed"},
		{`{"region":null}`, []string{"Mcp-Param-Region: a"}, "is not"},
		{`{}`, []string{"Mcp-Param-Zone: a"}, "is not"},
		{`{"n":42}`, []string{"Mcp-Param-N: 43"}, "does not match"},
		{`{"n":42}`, []string{"Mcp-Param-N: 0x2a"}, "does not match"},
		{`{"n":42.5}`, []string{"Mcp-Param-N: 42.5"}, "does not match"},
		{`{"n":9007199254740993}`, []string{"Mcp-Param-N: 9007199254740993"}, "does not match"},
		{`{"on":true}`, []string{"Mcp-Param-On: True"}, "does not match"},
		{`{"region":["a"]}`, []string{"Mcp-Param-Region: a"}, "does not match"},
		{`{"region":"a","region":"b"}`, []string{"Mcp-Param-Region: b"}, "repeated"},
		{`{"where":{"zone":"a"},"where":{}}`, []string{"Mcp-Param-Zone: a"}, "repeated"},
	}
	for _, c := range cases {
		fault := b.Check(headers(c.headers...), []byte(c.args))
		if c.fault != "" {
			if fault == nil || fault.Code(EraModern) != -32020 || fault.Status(EraModern) != 400 || !strings.Contains(fault.Error(), c.fault) {
				t.Errorf("Check(%s, %v): %v, want %q", c.args, c.headers, fault, c.fault)
			}
			continue
		}
		if fault != nil {
			t.Errorf("Check(%s, %v): %v", c.args, c.headers, fault)
		}
		var sent []string
		for _, h := range b.Headers([]byte(c.args)) {
			sent = append(sent, h.Name+": "+h.Value)
		}
		if !slices.Equal(sent, c.headers) {
			t.Errorf("Headers(%s) = %q, want %q", c.args, sent, c.headers)
		}
	}
	// H13: numbers are compared as numbers, unknown headers are ignored, and an empty string has an empty header.
	if fault := b.Check(headers("Mcp-Param-N: 42.0", "Mcp-Param-Else: x"), []byte(`{"n":42}`)); fault != nil {
		t.Error(fault)
	}
	if fault := b.Check(headers("Mcp-Param-Region: "), []byte(`{"region":""}`)); fault != nil {
		t.Error(fault)
	}
	var none *Bindings
	if none.Check(headers(), []byte(`{"region":"a"}`)) != nil || none.Headers([]byte(`{"region":"a"}`)) != nil {
		t.Error("nil binds something")
	}
}

// For any schema and arguments: no panic, and Check accepts the headers that Headers returns.
func FuzzBindings(f *testing.F) {
	f.Add(`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"properties":{"c":{"type":"integer","x-mcp-header":"C"}}}}}`, `{"a":"x","b":{"c":1e2}}`)
	f.Add(`{"items":{"x-mcp-header":"A"}}`, `{"a":-0}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		if Valid([]byte(schema)) != nil || Valid([]byte(args)) != nil || !strings.HasPrefix(args, "{") {
			return
		}
		b, err := CompileBindings(toolWith(schema))
		if err != nil || b == nil {
			return
		}
		var lines []string
		for _, h := range b.Headers([]byte(args)) {
			lines = append(lines, h.Name+":"+h.Value)
		}
		fault := b.Check(headers(lines...), []byte(args))
		if fault == nil || strings.Contains(fault.Message, "twice") || strings.Contains(fault.Message, "missing") {
			return // missing: the header cannot carry the value
		}
		var v any
		if json.Unmarshal([]byte(args), &v) == nil {
			t.Fatalf("%s, %s: %q: %v", schema, args, lines, fault)
		}
	})
}
