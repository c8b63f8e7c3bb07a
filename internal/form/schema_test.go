package form

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/gatetest"
)

const forgeSchema = `{"type":"object","required":["title"],"properties":{
	"title":{"type":"string","description":"what it is called"},
	"count":{"type":"integer"},"ratio":{"type":"number"},"draft":{"type":"boolean"},
	"tags":{"type":"array","items":{"type":"string"}},"extra":{"type":"object"},
	"level":{"enum":["low","high",3]},
	"maybe":{"type":["string","null"]},"id":{"anyOf":[{"type":"integer"},{"type":"string"}]},
	"kind":{"$ref":"#/$defs/kind"},"loop":{"$ref":"#/$defs/loop"},"free":{},"any":true
},"$defs":{"kind":{"type":"boolean"},"loop":{"$ref":"#/$defs/loop"}}}`

// The schema of a server cannot block the command. If it is too deep, too large or too complex, it is ignored, and the
// types of values are guessed.
func TestHostileSchemas(t *testing.T) {
	list := func(text string, n int) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }
	entangled := func(key string) string {
		defs := `"a7":{"type":"string"}`
		for d := range 7 {
			defs += fmt.Sprintf(`,"a%d":{"%s":[%s]}`, d, key, list(fmt.Sprintf(`{"$ref":"#/$defs/a%d"}`, d+1), 10))
		}
		return `{"properties":{"x":{"$ref":"#/$defs/a0"}},"$defs":{` + defs + `}}`
	}
	const deep = 9000 // encoding/json permits 10 000
	for name, raw := range map[string]string{
		"unions of unions":  entangled("anyOf"),
		"choices of those":  entangled("oneOf"),
		"deep":              `{"properties":{"x":` + strings.Repeat(`{"anyOf":[`, deep/2) + list(`{"type":"string"}`, 20_000) + strings.Repeat(`]}`, deep/2) + `}}`,
		"deep in text only": `{"properties":{"x":{"type":"integer","description":"` + strings.Repeat(`{[\"`, 1000) + `"}}}`,
		"large":             `{"properties":{"x":{"anyOf":[` + list(`{"type":"string"}`, 200_000) + `]}}}`,
		"many names":        `{"properties":{"x":{},` + list(`"`+strings.Repeat("a", 300)+`":{}`, 10_000) + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan string, 1)
			go func() {
				s, err := ParseSchema([]byte(raw))
				if err != nil {
					done <- err.Error()
					return
				}
				got, err := s.Arguments("tool", []Pair{{Key: "x", Value: "1"}})
				done <- fmt.Sprint(string(got), err)
			}()
			select {
			case got := <-done:
				if got != `{"x":1}<nil>` && got != `{"x":"1"}<nil>` {
					t.Errorf("got %s", got)
				}
			case <-time.After(gatetest.Patience):
				t.Error("the conversion took too long")
			}
		})
	}
}

func TestArguments(t *testing.T) {
	for _, c := range []struct {
		name, schema string
		words        []string
		want         string // the JSON, or "error: …" with a part of the error, or "hint: …"
	}{
		{"text stays text", forgeSchema, []string{"title=42"}, `{"title":"42"}`},
		{"empty text", forgeSchema, []string{"title="}, `{"title":""}`},
		{"equals signs in the value", forgeSchema, []string{"title=a=b=c"}, `{"title":"a=b=c"}`},
		{"integer", forgeSchema, []string{"title=x", "count=9007199254740993"}, `{"count":9007199254740993,"title":"x"}`},
		{"not an integer", forgeSchema, []string{"title=x", "count=1.5"}, "error: want integer"},
		{"number keeps its digits", forgeSchema, []string{"title=x", "ratio=1.10"}, `{"ratio":1.10,"title":"x"}`},
		{"not a number", forgeSchema, []string{"title=x", "ratio=fast"}, "error: want number"},
		{"boolean", forgeSchema, []string{"title=x", "draft=true"}, `{"draft":true,"title":"x"}`},
		{"not a boolean", forgeSchema, []string{"title=x", "draft=yes"}, "error: want boolean"},
		{"array", forgeSchema, []string{"title=x", `tags=["a","b"]`}, `{"tags":["a","b"],"title":"x"}`},
		{"not an array", forgeSchema, []string{"title=x", "tags=a,b"}, "hint: as JSON"},
		{"object", forgeSchema, []string{"title=x", `extra={"a":1}`}, `{"extra":{"a":1},"title":"x"}`},
		{"enum", forgeSchema, []string{"title=x", "level=high"}, `{"level":"high","title":"x"}`},
		{"number in an enum", forgeSchema, []string{"title=x", "level=3"}, `{"level":3,"title":"x"}`},
		{"not in the enum", forgeSchema, []string{"title=x", "level=middle"}, "error: one of low, high, 3"},
		{"null", forgeSchema, []string{"title=x", "maybe=null"}, `{"maybe":null,"title":"x"}`},
		{"most specific type of a union", forgeSchema, []string{"title=x", "id=7"}, `{"id":7,"title":"x"}`},
		{"text in a union", forgeSchema, []string{"title=x", "id=seven"}, `{"id":"seven","title":"x"}`},
		{"reference", forgeSchema, []string{"title=x", "kind=false"}, `{"kind":false,"title":"x"}`},
		{"reference to itself", forgeSchema, []string{"title=x", "loop=1"}, `{"loop":1,"title":"x"}`},
		{"undeclared type", forgeSchema, []string{"title=x", "free=1", "any=one"}, `{"any":"one","free":1,"title":"x"}`},
		{"missing argument", forgeSchema, []string{"count=1"}, "error: requires title"},
		{"description of a missing argument", forgeSchema, nil, "hint: title=… (string): what it is called"},
		{"unknown argument", forgeSchema, []string{"title=x", "titel=y"}, `error: no argument "titel"`},
		{"similar name for an unknown argument", forgeSchema, []string{"title=x", "titel=y"}, "hint: did you mean title?"},
		{"no similar name for an unknown argument", forgeSchema, []string{"title=x", "whatever=y"}, "hint: use one of: any, count"},
		{"undeclared argument is permitted", `{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":true}`, []string{"b=1"}, `{"b":1}`},
		{"no argument is declared", `{"type":"object"}`, []string{"b=1"}, `{"b":1}`},
		{"no argument is permitted", `{"type":"object","additionalProperties":false}`, []string{"b=1"}, `error: no argument "b"`},
		{"hint if no argument is permitted", `{"type":"object","additionalProperties":false}`, []string{"b=1"}, "hint: omit all arguments"},
		{"no schema", "", []string{"a=1", "b=x", `c="1"`}, `{"a":1,"b":"x","c":"\"1\""}`},
		{"no arguments", `{"type":"object"}`, nil, `{}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var raw []byte
			if c.schema != "" {
				raw = []byte(c.schema)
			}
			s, err := ParseSchema(raw)
			if err != nil {
				t.Fatal(err)
			}
			got, err := typedWords(s, c.words)
			if !matches(c.want, string(got), err) {
				t.Errorf("%v = %s, %v, want %s", c.words, got, err, c.want)
			}
		})
	}
}

// An error message quotes the beginning of a long value.
func TestLongValue(t *testing.T) {
	s, err := ParseSchema([]byte(forgeSchema))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Arguments("forge", []Pair{{"count", strings.Repeat("x", 1<<20)}})
	if want := `argument "count": want integer, got "` + strings.Repeat("x", 199) + `…"`; err == nil || err.Error() != want {
		t.Errorf("%.300v", err)
	}
}

func typedWords(s Schema, words []string) ([]byte, error) {
	var pairs []Pair
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		pairs = append(pairs, Pair{key, value})
	}
	return s.Arguments("forge", pairs)
}

// matches compares a result with the expected one. Errors must be of type *ArgumentError.
func matches(want, got string, err error) bool {
	e, _ := errors.AsType[*ArgumentError](err)
	if piece, ok := strings.CutPrefix(want, "error: "); ok {
		return e != nil && strings.Contains(e.Error(), piece)
	}
	if piece, ok := strings.CutPrefix(want, "hint: "); ok {
		return e != nil && strings.Contains(e.Hint, piece)
	}
	return err == nil && got == want
}

func FuzzTypedArguments(f *testing.F) {
	f.Add(forgeSchema, "count", "12")
	f.Add(`{"properties":{"a":{"type":["integer","null"]}}}`, "a", "null")
	f.Add(`true`, "a", " ")
	f.Fuzz(func(t *testing.T, text, key, value string) {
		s, err := ParseSchema([]byte(text))
		if err != nil {
			return
		}
		raw, err := s.Arguments("x", []Pair{{Key: key, Value: value}})
		if _, ok := errors.AsType[*ArgumentError](err); err != nil && !ok {
			t.Fatalf("%v is not an ArgumentError (%s)", err, raw)
		}
	})
}
