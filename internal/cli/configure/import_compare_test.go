package configure

import (
	"testing"

	"goblin-actor/internal/config"
)

// import compares tool filters too: a server with the same filters as one in the configuration counts as the same
// server, and a server with other filters does not.
func TestServersWithToolFilters(t *testing.T) {
	in := &importer{text: "mcpServers:\n  ours: {command: x, tools: {allow: [a, b], deny: [c], disabled: [d]}}\n"}
	in.vars.lookup = func(string) (string, bool) { return "", false }
	for _, c := range []struct {
		allow, deny, disabled []string
		same                  string
	}{
		{[]string{"a", "b"}, []string{"c"}, []string{"d"}, "ours"},
		{nil, []string{"c"}, []string{"d"}, ""},
		{[]string{"a", "b"}, nil, []string{"d"}, ""},
		{[]string{"a", "b"}, []string{"c"}, nil, ""},
	} {
		source := config.Entry{Name: "theirs", Command: "x", ToolsAllow: c.allow, ToolsDeny: c.deny, ToolsDisabled: c.disabled}
		if same := in.chooseName(&source, source); same != c.same {
			t.Errorf("%v: same as %q, want %q", c, same, c.same)
		}
	}
}
