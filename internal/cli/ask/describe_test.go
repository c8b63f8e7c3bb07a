package ask

import (
	"fmt"
	"strings"
	"testing"

	"goblin-actor/protocol"
)

func describeTool(t *testing.T, inputSchema string) string {
	t.Helper()
	item, err := protocol.ParseItem([]byte(`{"name":"tool","inputSchema":` + inputSchema + `}`))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := printDefinition(&b, described{protocol.Tools, item}); err != nil {
		t.Fatal(err)
	}
	_, args, _ := strings.Cut(b.String(), "kind:            tool\n")
	return args
}

// Members of objects and of array elements are printed to depth 3, even if they are reached through references and
// alternatives.
func TestDescribeShowsMembers(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"elements", `{"type":"object","properties":{"entities":{"type":"array","description":"What to add","items":{"type":"object","required":["name"],"properties":{
			"observations":{"type":"array","items":{"type":"string"}},"name":{"type":"string","description":"Unique"}}}}},"required":["entities"]}`,
			"arguments:\n  entities (array of object, required)\n      What to add\n    name (string, required)\n        Unique\n    observations (array of string)\n"},
		{"depth", `{"properties":{"a":{"type":"object","properties":{"b":{"properties":{"c":{"type":"object","properties":{"d":{"type":"string"}}}}}}}}}`,
			"arguments:\n  a (object)\n    b (object)\n      c (object)\n"},
		{"reference", `{"$defs":{"p":{"type":"object","properties":{"x":{"type":"number"},"next":{"$ref":"#/$defs/p"}}}},"properties":{"from":{"$ref":"#/$defs/p"}}}`,
			"arguments:\n  from (object)\n    next (object)\n      next (object)\n      x (number)\n    x (number)\n"},
		{"alternatives", `{"properties":{"to":{"anyOf":[{"type":"null"},{"type":"array","items":{"enum":["a","b"]}},{"type":"object","properties":{"y":{}}}]}}}`,
			"arguments:\n  to (null or array of one of a, b or object)\n    y (any)\n"},
		{"array of arrays", `{"properties":{"rows":{"type":"array","items":{"type":"array","items":{"type":["integer","null"]}}}}}`,
			"arguments:\n  rows (array of array of integer or null)\n"},
		{"tuple of older drafts", `{"properties":{"pair":{"type":"array","items":[{"type":"string"}]}}}`, "arguments:\n  pair (array)\n"},
		{"invalid", `{"properties":{"n":{"type":"int"},"required":["n"]}}`, "invalid:         properties.required in the input schema is an array; an object was expected\n"},
	} {
		if got := describeTool(t, c.schema); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// A schema whose references expand to very many members is printed only in part.
func TestDescribeIsBounded(t *testing.T) {
	var members []string
	for i := range 100 {
		members = append(members, fmt.Sprintf(`"m%03d":{"$ref":"#/$defs/p"}`, i))
	}
	wide := `{"properties":{` + strings.Join(members, ",") + `}}`
	got := describeTool(t, `{"$defs":{"p":`+wide+`},`+wide[1:])
	if lines := strings.Count(got, "\n"); lines != 1+100+describedMembers+1 || !strings.HasSuffix(got, "  … -o json shows the remaining members\n") {
		t.Errorf("%d lines, ending with %q", lines, got[len(got)-80:])
	}
}
