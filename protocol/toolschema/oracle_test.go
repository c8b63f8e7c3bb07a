package toolschema

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"goblin-actor/protocol/rawjson"
)

var oracleNames = []string{"a", "b", "c", "ü"}

// randomSchema returns a schema with common keywords, nested at most depth levels deep.
func randomSchema(r *rand.Rand, draft7 bool, depth int) any {
	if depth == 0 || r.IntN(12) == 0 {
		return []any{true, false, map[string]any{}}[r.IntN(3)]
	}
	s := map[string]any{}
	deeper := func() any { return randomSchema(r, draft7, depth-1) }
	pick := func(n int) bool { return r.IntN(n) == 0 }
	list := func() []any {
		all := make([]any, 1+r.IntN(3))
		for i := range all {
			all[i] = deeper()
		}
		return all
	}
	types := []any{"string", "integer", "number", "boolean", "null", "array", "object"}
	if pick(2) {
		s["type"] = types[r.IntN(len(types))]
	} else if pick(3) {
		s["type"] = []any{"string", types[1+r.IntN(len(types)-1)]}
	}
	for keyword, value := range map[string]any{"minimum": r.IntN(4), "maximum": float64(r.IntN(4)) + 0.5, "multipleOf": 1 + r.IntN(3), "minLength": r.IntN(3), "maxLength": r.IntN(3),
		"minItems": r.IntN(3), "maxItems": r.IntN(3), "uniqueItems": true, "minProperties": r.IntN(3), "maxProperties": r.IntN(3), "pattern": []string{"^a", "b$", "[0-9]+", "ü"}[r.IntN(4)],
		"exclusiveMinimum": r.IntN(3), "exclusiveMaximum": r.IntN(5), "required": []any{oracleNames[r.IntN(4)]}, "enum": []any{randomValue(r, 2), randomValue(r, 1)}, "const": randomValue(r, 1)} {
		if pick(14) {
			s[keyword] = value
		}
	}
	for _, keyword := range []string{"additionalProperties", "propertyNames", "contains", "not", "if", "then", "else", "items"} {
		if pick(10) {
			s[keyword] = deeper()
		}
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		if pick(8) {
			s[keyword] = list()
		}
	}
	if pick(2) {
		s["properties"] = map[string]any{"a": deeper(), "b": deeper(), "ü": deeper()}
	}
	if pick(8) {
		s["patternProperties"] = map[string]any{"^[ab]": deeper()}
	}
	if pick(10) {
		s["$ref"] = []string{"#", "#/properties/a", "#/definitions/d"}[r.IntN(3)]
		if draft7 {
			for _, keyword := range []string{"const", "contains", "propertyNames", "if", "exclusiveMinimum", "exclusiveMaximum"} {
				delete(s, keyword) // the validator wrongly applies them next to $ref
			}
		}
	}
	switch {
	case draft7 && pick(8):
		s["items"], s["additionalItems"] = list(), deeper()
	case draft7 && pick(8):
		s["dependencies"] = map[string]any{"a": []any{"b"}, "b": deeper()}
	case !draft7 && pick(8):
		s["prefixItems"] = list()
	case !draft7 && pick(8):
		s["dependentRequired"], s["minContains"] = map[string]any{"a": []any{"b"}}, r.IntN(3)
	}
	return s
}

func randomValue(r *rand.Rand, depth int) any {
	n := 6
	if depth > 0 {
		n = 8
	}
	switch r.IntN(n) {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return r.IntN(5)
	case 3:
		return []any{0.5, 1.0, 2.5, 1e3, -1}[r.IntN(5)]
	case 4, 5:
		return []string{"", "a", "ab", "b", "ü", "7", "a\nb"}[r.IntN(7)]
	case 6:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = randomValue(r, depth-1)
		}
		return list
	}
	return randomObject(r, depth)
}

func randomObject(r *rand.Rand, depth int) any {
	object := map[string]any{}
	for _, name := range oracleNames {
		if r.IntN(2) == 0 {
			object[name] = randomValue(r, depth-1)
		}
	}
	return object
}

// A full validator refuses everything that the check refuses, and the check misses few of the validator's refusals.
func TestArgumentsAgreeWithAValidator(t *testing.T) {
	refused, missed, passed := 0, 0, 0
	const seeds = 1000
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 7))
		draft7 := r.IntN(3) == 0
		schema, ok := randomSchema(r, draft7, 3).(map[string]any)
		if !ok {
			continue
		}
		schema["type"], schema["definitions"] = "object", map[string]any{"d": randomSchema(r, draft7, 2)}
		if _, has := schema["properties"]; !has {
			schema["properties"] = map[string]any{"a": map[string]any{}}
		}
		if draft7 {
			schema["$schema"] = "http://json-schema.org/draft-07/schema#"
		}
		delete(schema, "$ref") // at the root, it refers to itself
		args, err := json.Marshal(randomObject(r, 3))
		if err != nil {
			t.Fatal(err)
		}
		valid, usable := validates(t, schema, args)
		if !usable {
			continue
		}
		text, _ := json.Marshal(schema)
		s, _ := Compile([]byte(`{"inputSchema":`+string(text)+`}`), maxCompiledNodes)
		faults := s.Check(args, rawjson.Whole(args))
		switch {
		case valid && faults != nil:
			t.Fatalf("seed %d: %s\nrefused %s: %v", seed, text, args, faults)
		case valid:
			passed++
		case faults == nil:
			missed++
		default:
			refused++
		}
	}
	t.Logf("%d refused, %d missed, %d passed", refused, missed, passed)
	if refused < 300 || passed < 100 || 20*missed > refused {
		t.Errorf("%d refused, %d missed, %d passed; want at most one in 20 missed", refused, missed, passed)
	}
}

// validates runs the full validator. A schema that refers to itself endlessly is not usable.
func validates(t *testing.T, schema map[string]any, args []byte) (valid, usable bool) {
	t.Helper()
	text, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("http://x/s", document); err != nil {
		t.Fatal(err)
	}
	full, err := c.Compile("http://x/s")
	if err != nil {
		return false, false
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		t.Fatal(err)
	}
	err = full.Validate(value)
	if invalid, is := err.(*jsonschema.ValidationError); is && hasLoop(invalid) {
		return false, false
	}
	return err == nil, true
}

func hasLoop(e *jsonschema.ValidationError) bool {
	return bytes.Contains([]byte(e.Error()), []byte("infinite"))
}
