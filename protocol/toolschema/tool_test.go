package toolschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestCheckTool(t *testing.T) {
	object := `{"type":"object","properties":{"text":{"type":"string"}}}`
	deep := strings.Repeat(`{"items":`, 70) + "{}" + strings.Repeat("}", 70)
	for _, c := range []struct{ members, input, output string }{
		{`"inputSchema":` + object, "", ""},
		{`"inputSchema":{"type":"object"},"outputSchema":{"type":"array","items":{}}`, "", ""},
		{`"description":"none"`, "/inputSchema: the member is missing: want a JSON Schema with type object", ""},
		{`"inputSchema":null`, "/inputSchema: want a JSON Schema with type object, found null", ""},
		{`"inputSchema":"x"`, "/inputSchema: want a JSON Schema with type object, found a string", ""},
		{`"inputSchema":{}`, `/inputSchema/type: the member is missing: want "object"`, ""},
		{`"inputSchema":{"type":"string"}`, `/inputSchema/type: want "object", found "string"`, ""},
		{`"inputSchema":{"type":["object"]}`, `/inputSchema/type: want "object", found an array`, ""},
		{`"inputSchema":{"type":"object","properties":{"n":{"type":"int"}}}`,
			`/inputSchema/properties/n/type: want one of the types array, boolean, integer, null, number, object and string, found "int"`, ""},
		{`"inputSchema":{"type":"object","properties":{"coin":{"type":"string"},"required":["coin"]}}`,
			"/inputSchema/properties/required: want a schema (an object, true or false), found an array", ""},
		{`"inputSchema":{"type":"object","properties":{"a/b~":{"required":true}}}`, "/inputSchema/properties/a~1b~0/required: want an array of names, found true", ""},
		{`"inputSchema":{"type":"object","required":["a","a"]}`, `/inputSchema/required/1: "a" is listed twice`, ""},
		{`"inputSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`, "", ""},
		{`"inputSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"a":{"type":"string"}}}`,
			`/inputSchema/properties/a/$ref: "#/$defs/b" does not exist in this schema`, ""},
		{`"inputSchema":{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1/x.json"}}}`,
			`/inputSchema/properties/a/$ref: want a reference inside this schema (beginning with "#"), found "http://127.0.0.1/x.json"`, ""},
		{`"inputSchema":{"type":"object","properties":{"a":{"$ref":"#/properties/b/items/0"},"b":{"items":[{}]}},"$schema":"http://json-schema.org/draft-07/schema#"}`, "", ""},
		{`"inputSchema":{"type":"object","properties":{"a":{"maxLength":1e20,"minItems":2.0}}}`, "", ""},
		{`"inputSchema":{"type":"object","properties":{"a":{"maxLength":1.5}}}`, "/inputSchema/properties/a/maxLength: want a whole number of at least 0, found 1.5", ""},
		{`"inputSchema":{"type":"object","properties":{"b":{"items":[{}]}}}`, "/inputSchema/properties/b/items: want a schema (an object, true or false), found an array", ""},
		{`"inputSchema":` + object + `,"outputSchema":{"type":"array","items":7}`, "", "/outputSchema/items: want a schema (an object, true or false), found 7"},
		{`"inputSchema":` + object + `,"outputSchema":null`, "", "/outputSchema: want a schema (an object, true or false), found null"},
		{`"inputSchema":{"type":"object","properties":{"x":` + deep + `}}`, "", ""},
		{`"inputSchema":{"type":"object","description":"` + strings.Repeat("x", 300<<10) + `"}`, "/inputSchema: the schema has 307234 bytes; at most 262144 are allowed", ""},
		{`"inputSchema":{"type":"object","properties":{"a":{"$ref":"#/x"}},"description":"` + strings.Repeat("x", 300<<10) + `"}`,
			"/inputSchema: the schema has 307268 bytes; at most 262144 are allowed", ""},
	} {
		raw := []byte(`{"name":"n",` + c.members + `}`)
		if !validJSON(raw) {
			t.Fatalf("%s is not JSON", raw)
		}
		input, output := Check(raw)
		text := func(f *Fault) string {
			if f == nil {
				return ""
			}
			return f.Error()
		}
		if strings.Contains(c.members, deep) {
			if !strings.HasSuffix(text(input), ": schemas are nested more than 64 levels deep") {
				t.Errorf("deep: %s", text(input))
			}
			continue
		}
		if text(input) != c.input || text(output) != c.output {
			t.Errorf("%.200s:\n %s\n %s\nwant\n %s\n %s", c.members, text(input), text(output), c.input, c.output)
		}
	}
}

func TestWithoutOutputSchema(t *testing.T) {
	if got := string(WithoutOutputSchema([]byte(`{"name":"n", "outputSchema":7,"inputSchema":{}}`))); got != `{"name":"n","inputSchema":{}}` && got != `{"name":"n", "inputSchema":{}}` {
		t.Error(got)
	}
}

// For randomly changed schemas, the check accepts exactly what the meta-schema of 2020-12 accepts.
func TestCheckAgreesWithTheMetaSchema(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	meta := compiler.MustCompile("https://json-schema.org/draft/2020-12/schema")
	words := strings.Fields(`type required enum examples multipleOf exclusiveMinimum exclusiveMaximum minimum maximum items dependentRequired properties
		definitions dependentSchemas additionalProperties contains propertyNames if then else not unevaluatedItems unevaluatedProperties contentSchema
		allOf anyOf oneOf prefixItems minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains title description
		contentEncoding contentMediaType uniqueItems readOnly writeOnly deprecated`)
	for _, word := range words {
		if formOf([]byte(word)) == formAny {
			t.Errorf("%s is not checked", word)
		}
	}
	values := []string{"1", "0", "-1", "1.5", "2.0", `"object"`, `"int"`, "true", "false", "null", "{}", "[]", `["a"]`, `["a","a"]`, `["string"]`, `[{}]`, `{"a":{}}`,
		`{"a":[]}`, `{"a":["b"]}`, `{"a":1}`, `[1]`, `[true]`}
	r := rand.New(rand.NewPCG(1, 2))
	var schema func(depth int) string
	schema = func(depth int) string {
		if depth == 0 || r.IntN(2) == 0 {
			return values[r.IntN(len(values))]
		}
		var members []string
		used := map[string]bool{}
		for range 1 + r.IntN(2) {
			word := words[r.IntN(len(words))]
			if used[word] {
				continue
			}
			used[word] = true
			members = append(members, fmt.Sprintf("%q:%s", word, schema(depth-1)))
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	valid := 0
	for range 200_000 {
		text := schema(3)
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		want := meta.Validate(value) == nil
		_, _, got := checkSchema([]byte(text), 0, "")
		if (got == nil) != want {
			t.Fatalf("%s: %v, want valid %v", text, got, want)
		}
		if want {
			valid++
		}
	}
	if valid < 1000 {
		t.Errorf("only %d of the schemas were valid", valid)
	}
}

func BenchmarkCheckTool(b *testing.B) {
	raw, err := json.Marshal(map[string]any{"name": "create_issue", "description": strings.Repeat("Creates an issue. ", 10), "inputSchema": map[string]any{
		"type": "object", "required": []string{"owner", "repo", "title"}, "properties": map[string]any{
			"owner": map[string]any{"type": "string", "description": "Repository owner"}, "repo": map[string]any{"type": "string", "description": "Repository name"},
			"title": map[string]any{"type": "string"}, "labels": map[string]any{"type": "array", "items": map[string]any{"type": "string"}},
			"state": map[string]any{"type": "string", "enum": []string{"open", "closed"}}}}})
	if err != nil {
		b.Fatal(err)
	}
	raw = bytes.TrimSpace(raw)
	b.ReportAllocs()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if input, output := Check(raw); input != nil || output != nil {
			b.Fatal(input, output)
		}
	}
}

// No schema makes the check panic.
func FuzzCheckTool(f *testing.F) {
	f.Add([]byte(`{"inputSchema":{"type":"object","properties":{"a":{"$ref":"#/x/0"}}}}`))
	f.Fuzz(func(_ *testing.T, raw []byte) {
		if validJSON(raw) && raw[0] == '{' {
			Check(raw)
		}
	})
}

// validJSON reports whether raw is what the package requires: valid JSON in valid UTF-8.
func validJSON(raw []byte) bool { return json.Valid(raw) && utf8.Valid(raw) }
