package form

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/gatetest"
)

// A schema that no user can fill in is refused before it is parsed.
func TestLargeForm(t *testing.T) {
	if _, err := ParseForm([]byte(`{"description":"` + strings.Repeat("x", maxSchemaBytes) + `"}`)); err == nil || !strings.Contains(err.Error(), "larger than 1024 KiB") {
		t.Errorf("got %v", err)
	}
}

// Every kind of field accepts valid values. For invalid values, the error says what was expected.
func TestFormFields(t *testing.T) {
	for _, c := range []struct{ schema, in, want string }{ // for an error, want is a part of its text
		{`{"type":"string"}`, "a b", `"a b"`},
		{`{"type":"string","minLength":3}`, "ab", "want 3 or more characters, got 2"},
		{`{"type":"string","maxLength":2}`, "äöü", "want 2 or fewer characters, got 3"},
		{`{"type":"string","minLength":2,"maxLength":2}`, "äö", `"äö"`},
		{`{"type":"string","pattern":"^a+$"}`, "ab", "want text that matches ^a+$"},
		{`{"type":"string","pattern":"(?=a)"}`, "ab", `"ab"`}, // not a valid Go pattern, so the text is not checked
		{`{"type":"string","format":"email"}`, "me@example.com", `"me@example.com"`},
		{`{"type":"string","format":"email"}`, "Me <me@example.com>", "want an address"},
		{`{"type":"string","format":"uri"}`, "a:b", `"a:b"`},
		{`{"type":"string","format":"uri"}`, "/a", "want a URI"},
		{`{"type":"string","format":"date"}`, "2026-02-29", "want a date"},
		{`{"type":"string","format":"date-time"}`, "2026-02-28T10:00:00Z", `"2026-02-28T10:00:00Z"`},
		{`{"type":"string","format":"nonsense"}`, "x", `"x"`},
		{`{"type":"integer","minimum":1,"maximum":10}`, " 7 ", `7`},
		{`{"type":"integer","minimum":1,"maximum":10}`, "11", "want a whole number from 1 to 10"},
		{`{"type":"integer"}`, "1.5", "want a whole number"},
		{`{"type":"number","minimum":0.5}`, "0.25", "want a number, 0.5 or more"},
		{`{"type":"number","maximum":0.5}`, "1e-1", `1e-1`},
		{`{"type":"number"}`, "NaN", "want a number"},
		{`{"type":"number","maximum":1e999}`, "1", "does not have the expected form"},
		{`{"type":"boolean"}`, "Y", `true`},
		{`{"type":"boolean"}`, "no", `false`},
		{`{"type":"boolean"}`, "maybe", "want yes or no"},
		{`{"type":"string","enum":["a","2","b"]}`, "2", `"2"`}, // the value takes precedence over the number
		{`{"type":"string","enum":["a","b"]}`, "2", `"b"`},
		{`{"type":"string","enum":["a","b"]}`, "3", `"3" is not one of: 1 a, 2 b`},
		{`{"type":"string","enum":["a","b"],"enumNames":["Ay","Bee"]}`, "bee", `"b"`},
		{`{"type":"string","oneOf":[{"const":"x","title":"Ex"}]}`, "1", `"x"`},
		{`{"type":"array","items":{"type":"string","enum":["a","b","c"]}}`, "1, c", `["a","c"]`},
		{`{"type":"array","items":{"anyOf":[{"const":"x","title":"Ex"},{"const":"y","title":"Why"}]}}`, "ex,why", `["x","y"]`},
		{`{"type":"array","maxItems":1,"items":{"enum":["a","b"]}}`, "a,b", "want 1 or fewer values"},
		{`{"type":"array","minItems":2,"items":{"enum":["a","b"]}}`, "a", "want 2 or more values"},
		{`{"type":"array","items":{"enum":["a","b"]}}`, "a,1", `"a" occurs twice`},
		{`{"type":"array","items":{"type":"string"}}`, "x,y", `["x","y"]`},
		{`{"type":"gem"}`, "7", `7`},
		{`{}`, "x", `"x"`},
	} {
		f, err := ParseForm([]byte(`{"properties":{"k":` + c.schema + `}}`))
		var got json.RawMessage
		if err == nil {
			got, err = f[0].Read(c.in)
		}
		text := string(got)
		if err != nil {
			text = err.Error()
		}
		if err == nil && text != c.want || err != nil && !strings.Contains(text, c.want) {
			t.Errorf("%s, typed %q: %s, want %s", c.schema, c.in, text, c.want)
		}
	}
}

// Fields keep their order. Missing values and defaults are determined without asking the user.
func TestForm(t *testing.T) {
	f, err := ParseForm([]byte(`{"type":"object","required":["b","a"],"properties":{
		"b":{"type":"string","title":"Bee\u202e"},"a":{"type":"integer","default":3},"c":{"type":"integer","default":"x"},"d":{"type":"boolean","default":null}}}`))
	if err != nil || len(f) != 4 {
		t.Fatal(f, err)
	}
	values := map[string]json.RawMessage{}
	for i := range f {
		if v, ok := f[i].ByDefault(); ok {
			values[f[i].Name] = v
		}
	}
	if got := strings.Join(f.Missing(values), " "); got != "b" {
		t.Errorf("missing %s", got)
	}
	values["b"], values["z"] = Quoted(`"`), Quoted("not of the form")
	if got := string(f.Content(values)); got != `{"b":"\"","a":3}` {
		t.Errorf("content = %s", got)
	}
	if got := f[0].Label() + ": " + f[1].Describe() + ": " + f[2].Describe(); got != `Bee\u202e: integer; enter = 3: integer; optional` {
		t.Errorf("labels %s", got)
	}
}

// A default that is too large is ignored. Neither its items nor its match with the pattern are checked.
func TestHostileDefaults(t *testing.T) {
	items := make([]string, 100_000)
	for i := range items {
		items[i] = fmt.Sprintf("%d", i)
	}
	list, err := json.Marshal(items)
	if err != nil {
		t.Fatal(err)
	}
	for _, schema := range []string{
		`{"type":"array","items":{"type":"string"},"default":` + string(list) + `}`,
		`{"type":"string","pattern":"((a?){300}){300}b","default":"` + strings.Repeat("a", 900_000) + `"}`,
	} {
		done := make(chan bool, 1)
		go func() {
			f, err := ParseForm([]byte(`{"properties":{"x":` + schema + `}}`))
			if err != nil {
				t.Error(err)
				done <- false
				return
			}
			_, good := f[0].ByDefault()
			done <- good
		}()
		select {
		case good := <-done:
			if good {
				t.Errorf("%.60s: accepted", schema)
			}
		case <-time.After(gatetest.Patience):
			t.Errorf("%.60s: the check took too long", schema)
		}
	}
}

func TestBadForms(t *testing.T) {
	many := ""
	for i := range maxFields + 1 {
		many += `"` + strings.Repeat("x", i+1) + `":{},`
	}
	for _, raw := range []string{
		`[]`, `{"properties":[]}`, `{"properties":{"a":7}}`, `{"properties":{"a":{"type":["string","null"]}}}`,
		`{"properties":{` + strings.TrimSuffix(many, ",") + `}}`,
	} {
		if f, err := ParseForm([]byte(raw)); err == nil {
			t.Errorf("%.60s = %v, want an error", raw, f)
		}
	}
	for _, raw := range []string{`{}`, `{"properties":null}`, `{"properties":{}}`} {
		if f, err := ParseForm([]byte(raw)); err != nil || string(f.Content(nil)) != "{}" {
			t.Errorf("%s = %v, %v", raw, f, err)
		}
	}
}

// No form and no input causes a panic, and the content is always valid JSON.
func FuzzForm(f *testing.F) {
	f.Add([]byte(`{"properties":{"k":{"type":"array","items":{"enum":["a"]},"minItems":1}},"required":["k"]}`), "a")
	f.Add([]byte(`{"properties":{"k":{"type":"number","minimum":1,"default":2}}}`), "")
	f.Fuzz(func(t *testing.T, raw []byte, text string) {
		fields, err := ParseForm(raw)
		if err != nil {
			return
		}
		values := map[string]json.RawMessage{}
		for i := range fields {
			fields[i].Describe()
			if v, err := fields[i].Read(text); err == nil {
				values[fields[i].Name] = v
			} else if v, ok := fields[i].ByDefault(); ok {
				values[fields[i].Name] = v
			}
		}
		if got := fields.Content(values); !json.Valid(got) {
			t.Errorf("content = %s", got)
		}
	})
}
