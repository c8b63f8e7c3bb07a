package form

import (
	"slices"
	"testing"
)

// The texts that fill a form in give the arguments that they came from.
func TestTextsGiveTheArguments(t *testing.T) {
	in, err := ToolInputs([]byte(`{"name":"t","inputSchema":{"type":"object","properties":{
		"path":{"type":"string"}, "count":{"type":"integer"}, "big":{"type":"number"}, "deep":{"type":"object"}, "list":{"type":"array","items":{"type":"string"}},
		"on":{"type":"boolean"}, "any":{}, "kind":{"enum":["a","b"]}, "either":{"type":["string","null"]}, "absent":{"type":"string"}, "empty":{"type":"string"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	const arguments = `{"path":"/n/a b.md","count":3,"big":1.50,"deep":{"x": [1, 2]},"list":["p","q"],"on":false,"any":"seven","kind":"b","either":null,"empty":"","other":1}`
	texts, unknown := in.Texts([]byte(arguments))
	got := map[string]string{}
	for i, text := range texts {
		got[in.All[i].Name] = text
	}
	for name, want := range map[string]string{"path": "/n/a b.md", "count": "3", "big": "1.50", "deep": `{"x":[1,2]}`, "list": `["p","q"]`, "on": "false", "any": "seven", "kind": "b", "absent": "", "empty": ""} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if !slices.Contains(unknown, "other") || !slices.Contains(unknown, "empty") || slices.Contains(unknown, "absent") {
		t.Errorf("unknown: %v", unknown)
	}
	again, err := in.Arguments("t", texts)
	if err != nil {
		t.Fatal(err)
	}
	if back, _ := in.Texts(again); !slices.Equal(back, texts) {
		t.Errorf("the texts give %s", again)
	}
	for _, bad := range []string{"", "[]", "7", `{"path":`} {
		if texts, unknown := in.Texts([]byte(bad)); len(texts) != len(in.All) || slices.ContainsFunc(texts, func(s string) bool { return s != "" }) || unknown != nil {
			t.Errorf("%s: %q, %v", bad, texts, unknown)
		}
	}
}
