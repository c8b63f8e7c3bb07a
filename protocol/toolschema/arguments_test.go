package toolschema

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/protocol/rawjson"
)

func compiled(t testing.TB, schema string) *InputSchema {
	t.Helper()
	tool := []byte(`{"name":"n","inputSchema":` + schema + `}`)
	if !validJSON(tool) {
		t.Fatalf("%s is not valid JSON", tool)
	}
	if input, _ := Check(tool); input != nil {
		t.Fatalf("%s: %v", schema, input)
	}
	s, _ := Compile(tool, maxCompiledNodes)
	return s
}

func problems(s *InputSchema, args string) (all []string) {
	raw := []byte(args)
	for _, f := range s.Check(raw, rawjson.Whole(raw)) {
		all = append(all, f.Pointer+": "+f.Expected)
	}
	return all
}

// Each keyword refuses a value that certainly does not match; a value that cannot be judged is accepted. The problem's
// pointer leads to the value; the problem does not repeat it.
func TestArguments(t *testing.T) {
	of := func(property string) string { return `{"type":"object","properties":{"a":` + property + `}}` }
	draft := func(version, property string) string {
		return `{"$schema":"http://json-schema.org/` + version + `/schema#","type":"object","properties":{"a":` + property + `}}`
	}
	for _, c := range []struct{ schema, args, want string }{
		{of(`{"type":"string"}`), `{"a":"x"}`, ""},
		{of(`{"type":"string"}`), `{"a":5}`, "/a: want string, found a number"},
		{of(`{"type":"string"}`), ``, ""},
		{of(`{"type":"string"}`), `null`, ""},
		{of(`{"type":"string"}`), `{"b":5}`, ""},
		{of(`{"type":"string"}`), `{"\u0061":5}`, "/a: want string, found a number"},
		{of(`{"type":"integer"}`), `{"a":1.0}`, ""},
		{of(`{"type":"integer"}`), `{"a":1e3}`, ""},
		{of(`{"type":"integer"}`), `{"a":1.5}`, "/a: want integer, found a number"},
		{of(`{"type":"integer"}`), `{"a":1.00000000000000000000001}`, ""}, // too long to be checked
		{of(`{"type":"integer"}`), `{"a":123456789012345678901234567890}`, ""},
		{of(`{"type":["string","null"]}`), `{"a":true}`, "/a: want null or string, found a boolean"},
		{of(`{"enum":["a","b"]}`), `{"a":"secret"}`, `/a: want one of "a", "b"; found another value`},
		{of(`{"enum":["\u0061",1]}`), `{"a":"a"}`, ""},
		{of(`{"enum":["a",1]}`), `{"a":1.0}`, ""},
		{of(`{"const":{"x":1}}`), `{"a":{"x": 1}}`, ""}, // spelled differently: not checked
		{of(`{"const":null}`), `{"a":0}`, "/a: want null; found another value"},
		{of(`{"minLength":2,"maxLength":3}`), `{"a":"ü"}`, "/a: want 2 to 3 characters, found 1"},
		{of(`{"minLength":2,"maxLength":3}`), `{"a":"\u00fcü"}`, ""},
		{of(`{"pattern":"^[a-z]+$"}`), `{"a":"A"}`, "/a: want a string that matches the pattern ^[a-z]+$"},
		{of(`{"pattern":"^[a-z]+$"}`), `{"a":"ü"}`, ""}, // not checked
		{of(`{"pattern":"(?<=x)y"}`), `{"a":"z"}`, ""},  // not in Go's syntax
		{of(`{"minimum":1,"exclusiveMaximum":10}`), `{"a":0}`, "/a: want a number of at least 1"},
		{of(`{"minimum":1,"exclusiveMaximum":10}`), `{"a":10}`, "/a: want a number below 10"},
		{of(`{"multipleOf":5}`), `{"a":7}`, "/a: want a number that is a multiple of 5"},
		{of(`{"multipleOf":0.1}`), `{"a":0.3}`, ""},
		{`{"type":"object","required":["a","b~/"],"properties":{"a":{"type":"integer"}}}`, `{}`,
			"/a: the required member is missing: want integer; /b~0~1: the required member is missing"},
		{`{"type":"object","properties":{"a":{},"b":{}},"additionalProperties":false}`, `{"c":1}`, "/c: the member is not allowed: want one of a, b"},
		{`{"type":"object","additionalProperties":{"type":"string"}}`, `{"c":1}`, "/c: want string, found a number"},
		{`{"type":"object","patternProperties":{"^x":{"type":"string"}},"additionalProperties":false}`, `{"x1":1,"y":1}`,
			"/x1: want string, found a number; /y: the member is not allowed"},
		{`{"type":"object","propertyNames":{"maxLength":2}}`, `{"abc":1}`, "/abc: propertyNames does not allow the member's name"},
		{`{"type":"object","minProperties":2}`, `{"a":1}`, ": want 2 or more members, found 1"},
		{`{"type":"object","dependentRequired":{"a":["b"]}}`, `{"a":1}`, "/b: the member is missing; it is required if a is present"},
		{`{"type":"object","dependentSchemas":{"a":{"required":["b"]}}}`, `{"a":1}`, "/b: the required member is missing"},
		{of(`{"items":{"type":"string"}}`), `{"a":["x",[],2]}`, "/a/1: want string, found an array; /a/2: want string, found a number"},
		{of(`{"prefixItems":[{"type":"string"}],"items":false}`), `{"a":["x",1]}`, "/a/1: no value is allowed here"},
		{of(`{"minItems":2,"maxItems":2}`), `{"a":[1]}`, "/a: want 2 to 2 elements, found 1"},
		{of(`{"uniqueItems":true}`), `{"a":[1,2,1]}`, "/a: want distinct elements; found two equal ones"},
		{of(`{"uniqueItems":true}`), `{"a":[1,1.0]}`, ""}, // not checked
		{of(`{"contains":{"type":"string"}}`), `{"a":[1]}`, "/a: want 1 or more elements that fit the schema under contains, found 0"},
		{of(`{"anyOf":[{"type":"string"},{"type":"null"}]}`), `{"a":5}`, `/a: want a value that fits one of the schemas under "anyOf" (null or string); found a number`},
		{of(`{"anyOf":[{"type":"object","required":["x"]}]}`), `{"a":{}}`, "/a/x: the required member is missing"},
		{of(`{"oneOf":[{"type":"number"},{"type":"integer"}]}`), `{"a":5}`, `/a: want a value that fits exactly one of the schemas under "oneOf"; the value fits several`},
		{of(`{"allOf":[{"type":"string"},{"maxLength":1}]}`), `{"a":"xy"}`, "/a: want 1 or fewer characters, found 2"},
		{of(`{"not":{"type":"string"}}`), `{"a":"x"}`, `/a: want a value that does not match the schema under "not"`},
		{of(`{"not":{"pattern":"ü"}}`), `{"a":"x"}`, ""},
		{of(`{"if":{"type":"string"},"then":{"minLength":2},"else":{"minimum":2}}`), `{"a":"x"}`, "/a: want 2 or more characters, found 1"},
		{of(`{"if":{"type":"string"},"then":{"minLength":2},"else":{"minimum":2}}`), `{"a":1}`, "/a: want a number of at least 2"},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/t~1"}},"$defs":{"t/":{"type":"string"}}}`, `{"a":1}`, "/a: want string, found a number"},
		{`{"type":"object","properties":{"a":{"$ref":"#"}},"additionalProperties":false}`, `{"a":{"a":{"b":1}}}`, "/a/a/b: the member is not allowed: want one of a"},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/t","minLength":2}},"$defs":{"t":{}}}`, `{"a":"x"}`, "/a: want 2 or more characters, found 1"},
		{draft("draft-07", `{"$ref":"#/definitions/t","minLength":2}`)[:0] + `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"t":{}},"properties":{"a":{"$ref":"#/definitions/t","minLength":2}}}`, `{"a":"x"}`, ""},
		{draft("draft-07", `{"items":[{"type":"string"}],"additionalItems":false}`), `{"a":["x",1]}`, "/a/1: no value is allowed here"},
		{draft("draft-04", `{"minimum":1,"exclusiveMinimum":true}`), `{"a":1}`, "/a: want a number above 1"},
		{draft("draft-07", `{"dependencies":{"x":["y"]}}`), `{"a":{"x":1}}`, "/a/y: the member is missing; it is required if x is present"},
		{`{"$schema":"https://example.org/other","type":"object","required":["a"]}`, `{}`, ""},
		{of(`{"$id":"http://x/","type":"string"}`), `{"a":1}`, ""},
		{of(`{"$dynamicRef":"#","type":"string"}`), `{"a":1}`, "/a: want string, found a number"},
		{of(`{"unevaluatedProperties":false}`), `{"a":{"b":1}}`, ""},
		{of(`{"format":"email"}`), `{"a":"x"}`, ""},
		{of(`{"oneOf":[{"type":"string","format":"ipv4"},{"type":"string","format":"ipv6"}]}`), `{"a":"10.0.0.1"}`, ""}, // one format may match: not checked
		{of(`{"oneOf":[{"type":"string","format":"ipv4"},{"type":"string","format":"ipv6"}]}`), `{"a":1}`,
			`/a: want a value that fits one of the schemas under "oneOf" (string); found a number`},
		{of(`{"not":{"format":"email"}}`), `{"a":"x"}`, ""},
		{of(`{"not":{"contentEncoding":"base64"}}`), `{"a":"?"}`, ""},
		{of(`{"type":"string","nullable":true}`), `{"a":null}`, ""}, // nullable is an OpenAPI keyword; some servers use it to allow null
		{of(`{"type":"string","nullable":true}`), `{"a":1}`, "/a: want string, found a number"},
		{of(`{"type":"string","nullable":false}`), `{"a":null}`, "/a: want string, found null"},
		{of(`{"multipleOf":10}`), `{"a":1e23}`, ""}, // a float64 of that size is rounded
		{of(`{"exclusiveMinimum":0}`), `{"a":1e-400}`, ""},
		{of(`{"pattern":"^\\s$"}`), `{"a":"\u000b"}`, ""},                             // white space in ECMA-262, not in Go
		{of(`{"not":{"pattern":"^.$"}}`), `{"a":"\r"}`, ""},                           // a line terminator in ECMA-262, not in Go
		{draft("draft-07", `{"dependentRequired":{"x":["y"]}}`), `{"a":{"x":1}}`, ""}, // a keyword of 2019-09
		{draft("draft-07", `{"dependentSchemas":{"x":false}}`), `{"a":{"x":1}}`, ""},
		{draft("draft-04", `{"const":1}`), `{"a":2}`, ""}, // a keyword of draft-06
		{draft("draft-04", `{"contains":{"type":"string"}}`), `{"a":[1]}`, ""},
	} {
		s := compiled(t, c.schema)
		got := ""
		if s != nil {
			got = strings.Join(problems(s, c.args), "; ")
		}
		if got != c.want {
			t.Errorf("%s\n%s\ngot  %s\nwant %s", c.schema, c.args, got, c.want)
		}
	}
}

// The number of faults is limited, and a long key of the client is shortened.
func TestArgumentFaultsAreBounded(t *testing.T) {
	s := compiled(t, `{"type":"object","additionalProperties":false}`)
	var args []string
	for i := range 20 {
		args = append(args, fmt.Sprintf(`"%s%d":1`, strings.Repeat("k", 1000), i))
	}
	got := problems(s, "{"+strings.Join(args, ",")+"}")
	if len(got) != maxArgumentFaults || len(got[0]) > maxPointer+64 {
		t.Errorf("%d faults, the first of %d bytes; want %d and at most %d", len(got), len(got[0]), maxArgumentFaults, maxPointer+64)
	}
}

// Schemas and arguments crafted to be slow take a bounded amount of work. What exceeds the bound passes unchecked.
func TestArgumentWorkIsBounded(t *testing.T) {
	digits := strings.TrimSuffix(strings.Repeat("1,", 100_000), ",")
	patterns := make([]string, 400)
	for i := range patterns {
		patterns[i] = fmt.Sprintf(`"(a|b|%d){100}$":{}`, i)
	}
	refused := []string{"a pattern with many states", "elements like earlier ones", "missing members", "missing in branches", "missing beside one", "unknown members"}
	names, properties, unknown := make([]string, 20_000), make([]string, 1900), make([]string, 20_000)
	for i := range names {
		names[i], unknown[i] = fmt.Sprintf(`"k%d"`, i), fmt.Sprintf(`"u%d":1`, i)
	}
	for i := range properties {
		properties[i] = fmt.Sprintf(`"k%d":{}`, i)
	}
	required, objects := `{"required":[`+strings.Join(names, ",")+`]}`, strings.TrimSuffix(strings.Repeat("{},", 10_000), ",")
	for name, c := range map[string]struct{ schema, args string }{
		"missing members":            {`{"type":"object","properties":{"a":{"items":` + required + `}}}`, `{"a":[` + objects + `]}`},
		"missing in branches":        {`{"type":"object","properties":{"a":{"items":{"anyOf":[{"type":"string"},` + required + `]}}}}`, `{"a":[` + objects + `]}`},
		"missing beside one":         {`{"type":"object","properties":{"a":{"items":{"dependentRequired":{"a":[` + strings.Join(names, ",") + `]}}}}}`, `{"a":[` + strings.ReplaceAll(objects, "{}", `{"a":1}`) + `]}`},
		"unknown members":            {`{"type":"object","additionalProperties":false,"properties":{` + strings.Join(properties, ",") + `}}`, `{` + strings.Join(unknown, ",") + `}`},
		"branches that lead back":    {`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"anyOf":[{"$ref":"#/$defs/y"},{"$ref":"#/$defs/y"}]},"y":{"oneOf":[{"$ref":"#/$defs/x"},{"$ref":"#/$defs/x"}]}}}`, `{"a":1}`},
		"a reference to itself":      {`{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`, `{"a":1}`},
		"not of itself":              {`{"type":"object","properties":{"a":{"not":{"$ref":"#/properties/a"}}}}`, `{"a":1}`},
		"elements like earlier ones": {`{"type":"object","properties":{"a":{"uniqueItems":true,"items":{"type":"integer"}}}}`, `{"a":[` + digits + `]}`},
		"a pattern with many states": {`{"type":"object","properties":{"a":{"pattern":"(x+x+)+y"}}}`, `{"a":"` + strings.Repeat("x", 4000) + `"}`},
		"a huge pattern":             {`{"type":"object","properties":{"a":{"pattern":"((((a{100}){100}){100}){100}){100}"}}}`, `{"a":"a"}`},
		"many patterns":              {`{"type":"object","patternProperties":{` + strings.Join(patterns, ",") + `}}`, `{"` + strings.Repeat("a", 2000) + `":1}`},
		"nested arrays":              {`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"items":{"$ref":"#/$defs/x"},"contains":{"$ref":"#/$defs/x"}}}}`, `{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`},
	} {
		began := time.Now()
		if got := problems(compiled(t, c.schema), c.args); (len(got) > 0) != slices.Contains(refused, name) {
			t.Errorf("%s: %q", name, got)
		}
		if took := time.Since(began); took > 2*time.Second { // each takes about 10 ms with compiling
			t.Errorf("%s took %v", name, took)
		}
	}
}

// Compiling stops when the budget is used up. The parts that are not compiled refuse nothing.
func TestCompileArgumentsWithinABudget(t *testing.T) {
	var properties []string
	for i := range 3000 {
		properties = append(properties, fmt.Sprintf(`"p%d":{"type":"string"}`, i))
	}
	tool := []byte(`{"name":"n","inputSchema":{"type":"object","properties":{` + strings.Join(properties, ",") + `}}}`)
	s, used := Compile(tool, 1_000_000)
	if used > maxCompiledNodes+1100 || len(problems(s, `{"p1":1}`)) != 1 || len(problems(s, `{"p2999":1}`)) != 0 {
		t.Errorf("used %d; %q, %q", used, problems(s, `{"p1":1}`), problems(s, `{"p2999":1}`))
	}
	if s, used := Compile(tool, 0); s != nil || used != 0 {
		t.Error("compiled without a budget")
	}
}

const typicalTool = `{"name":"git_log","inputSchema":{"type":"object","properties":{"repo_path":{"type":"string","title":"Repo Path"},` +
	`"max_count":{"type":"integer","default":10,"minimum":1},"start_timestamp":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null},` +
	`"format":{"enum":["short","full"]},"paths":{"type":"array","items":{"type":"string"}}},"required":["repo_path"],"additionalProperties":false}}`

const typicalArguments = `{"repo_path":"/srv/code/project","max_count":20,"start_timestamp":"2026-01-01","format":"short","paths":["a.go","b.go","c/d.go"]}`

// Checking arguments that match allocates nothing.
func TestValidArgumentsDoNotAllocate(t *testing.T) {
	s, _ := Compile([]byte(typicalTool), maxCompiledNodes)
	raw := []byte(typicalArguments)
	at := rawjson.Whole(raw)
	if n := testing.AllocsPerRun(100, func() {
		if s.Check(raw, at) != nil {
			t.Fatal("refused")
		}
	}); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkCheckArguments(b *testing.B) {
	s, _ := Compile([]byte(typicalTool), maxCompiledNodes)
	raw := []byte(typicalArguments)
	b.ReportAllocs()
	for b.Loop() {
		if s.Check(raw, rawjson.Whole(raw)) != nil {
			b.Fatal("refused")
		}
	}
}

func BenchmarkCompileArguments(b *testing.B) {
	tool := []byte(typicalTool)
	b.ReportAllocs()
	for b.Loop() {
		Compile(tool, maxCompiledNodes)
	}
}

func TestProblemsAsData(t *testing.T) {
	s := compiled(t, `{"type":"object","required":["a"]}`)
	raw := []byte(`{}`)
	got := string(s.AppendProblems(nil, s.Check(raw, rawjson.Span{Off: 0, End: 2})))
	want := `"problems":[{"pointer":"/a","expected":"the required member is missing"}],"schema":{"type":"object","required":["a"]}`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A schema with newlines between its tokens has none in the error: each message is one line on stdio and in an event stream.
func TestProblemsAreOneLine(t *testing.T) {
	s := compiled(t, "{\r\n \"type\": \"object\",\n \"required\": [\"a\"]\n}")
	got := string(s.AppendProblems(nil, s.Check([]byte(`{}`), rawjson.Span{Off: 0, End: 2})))
	if strings.ContainsAny(got, "\r\n") || !strings.HasSuffix(got, `"schema":{   "type": "object",  "required": ["a"] }`) {
		t.Errorf("got %q", got)
	}
	if !strings.Contains(string(s.Raw), "\r\n") {
		t.Error("the schema itself was changed")
	}
}

// No schema or arguments make the check panic, or refuse without a reason.
func FuzzArguments(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`, `{"a":{"a":1}}`)
	f.Add(typicalTool[len(`{"name":"git_log","inputSchema":`):len(typicalTool)-1], typicalArguments)
	f.Add(`{"type":"object","properties":{"a":{"oneOf":[{"enum":["\u0061",1e1]},{"pattern":"^a"}],"uniqueItems":true,"contains":false}}}`, `{"a":["a",10]}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		tool := []byte(`{"inputSchema":` + schema + `}`)
		if !validJSON(tool) || !validJSON([]byte(args)) || args == "" || args[0] != '{' {
			return
		}
		if input, _ := Check(tool); input != nil {
			return
		}
		s, _ := Compile(tool, maxCompiledNodes)
		if s == nil {
			return
		}
		for _, f := range s.Check([]byte(args), rawjson.Span{End: uint32(len(args))}) {
			if f.Expected == "" {
				t.Fatalf("%s refuses %s at %q without a reason", schema, args, f.Pointer)
			}
		}
	})
}
