package lint

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const plainTool = `{"name":"n","description":"Reads a file.","inputSchema":{"type":"object"}}`

// Each rule finds exactly its own problem.
func TestRules(t *testing.T) {
	described := func(rest string) string { return `{"name":"n","description":"d",` + rest + `}` }
	for _, c := range []struct {
		name string
		tool Tool
		want []string // "rule pointer"
	}{
		{"a good tool", Tool{Raw: []byte(plainTool), Name: "a_n", Public: "a_n"}, nil},
		{"an invalid schema", Tool{Raw: []byte(described(`"inputSchema":{"type":"object","properties":{"n":{"type":"int"}}}`))},
			[]string{"invalid-schema /inputSchema/properties/n/type"}},
		{"no schema", Tool{Raw: []byte(`{"name":"n","description":"d"}`)}, []string{"invalid-schema /inputSchema"}},
		{"an invalid output schema", Tool{Raw: []byte(described(`"inputSchema":{"type":"object"},"outputSchema":{"items":7}`)), Name: "n", Public: "n"},
			[]string{"invalid-output-schema /outputSchema/items"}},
		{"a changed name", Tool{Raw: []byte(plainTool), Name: "a.b", Public: "a_b"}, []string{"name-changed /name"}},
		{"no description", Tool{Raw: []byte(`{"name":"n","inputSchema":{"type":"object"}}`), Name: "n", Public: "n"}, []string{"no-description /description"}},
		{"a blank description", Tool{Raw: []byte(`{"name":"n","description":" \n","inputSchema":{"type":"object"}}`), Name: "n", Public: "n"}, []string{"no-description /description"}},
		{"1024 characters", Tool{Raw: []byte(`{"name":"n","description":"` + strings.Repeat("é", 1024) + `","inputSchema":{"type":"object"}}`), Name: "n", Public: "n"}, nil},
		{"1025 characters", Tool{Raw: []byte(`{"name":"n","description":"` + strings.Repeat("é", 1025) + `","inputSchema":{"type":"object"}}`), Name: "n", Public: "n"},
			[]string{"long-description /description"}},
		{"constructs at the top", Tool{Raw: []byte(described(`"inputSchema":{"type":"object","anyOf":[{}],"$ref":"#","properties":{"a":{"oneOf":[{}]}}}`)), Name: "n", Public: "n"},
			[]string{"top-level-construct /inputSchema/anyOf", "top-level-construct /inputSchema/$ref"}},
		{"hidden characters", Tool{Raw: []byte(`{"name":"n","description":"a\udb40\udc41b","inputSchema":{"type":"object","properties":{"a/b":{"title":"x\u200by"}}}}`), Name: "n", Public: "n"},
			[]string{"hidden-characters /description", "hidden-characters /inputSchema/properties/a~1b/title"}},
		{"a second tool of a name", Tool{Raw: []byte(plainTool), Again: true}, []string{"duplicate /name"}},
		{"a tool without a name", Tool{Raw: []byte(`{}`), Fault: "no name"}, []string{"unlisted "}},
		{"a denied tool", Tool{Raw: []byte(`{"name":"n"}`), Denied: true}, nil},
	} {
		report := Check([]Server{{Name: "a", Tools: []Tool{c.tool}}})
		var got []string
		for _, f := range report.Servers[0].Findings {
			got = append(got, f.Rule+" "+f.Pointer)
		}
		if !slices.Equal(got, c.want) || report.Findings != len(c.want) {
			t.Errorf("%s: got %q (%d), want %q", c.name, got, report.Findings, c.want)
		}
	}
}

// Whether a name was shortened depends on its characters, not its bytes.
func TestChangedNames(t *testing.T) {
	for _, c := range []struct{ name, public, want string }{
		{"a_ünïcode", "a__n_code", "the name is changed to a__n_code"},
		{"a_" + strings.Repeat("x", 70), "a_xxx_abc123", "the name is shortened to a_xxx_abc123"},
	} {
		if got := changed(&Tool{Name: c.name, Public: c.public}); got != c.want {
			t.Errorf("changed(%s): got %s, want %s", c.name, got, c.want)
		}
	}
}

// Weights include offered tools only. Heaviest has the ten largest, largest first.
func TestWeights(t *testing.T) {
	var tools []Tool
	for i := range 12 {
		raw := fmt.Sprintf(`{"name":"n","description":"%s","inputSchema":{"type":"object"}}`, strings.Repeat("d", 10+i))
		tools = append(tools, Tool{Raw: []byte(raw), Name: fmt.Sprint("t", i), Public: fmt.Sprint("t", i)})
	}
	tools = append(tools, Tool{Raw: []byte(`{"name":"hidden","description":"` + strings.Repeat("d", 500) + `"}`)})
	report := Check([]Server{{Name: "a", Tools: tools}, {Name: "b", Absent: "it is waiting"}})
	total := 0
	for _, tool := range tools[:12] {
		total += len(tool.Raw)
	}
	if a := report.Servers[0]; a.Tools != 12 || a.Bytes != total || report.Bytes != total || report.Tokens != (total+3)/4 {
		t.Errorf("got %+v, want 12 tools of %d bytes", report, total)
	}
	if len(report.Heaviest) != 10 || report.Heaviest[0].Tool != "t11" || report.Heaviest[9].Tool != "t2" || report.Heaviest[0].Bytes != len(tools[11].Raw) {
		t.Errorf("heaviest tools: %+v", report.Heaviest)
	}
	if b := report.Servers[1]; b.Absent != "it is waiting" || b.Tools != 0 {
		t.Errorf("server without tools: got %+v", b)
	}
}
