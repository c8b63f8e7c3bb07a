package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/toolschema"
)

func refuses(s *config.Server) { s.Tools.Invalid, s.ValidateArguments = "hide", "refuse" }

func argumentsOf(t *testing.T, s *Snapshot, tool string) *toolschema.InputSchema {
	t.Helper()
	e, fault := s.Whole().Tool(tool)
	if fault != nil {
		t.Fatal(fault)
	}
	return e.Arguments()
}

// With validateArguments: refuse, schemas are compiled. An unchanged definition keeps its compiled schema if the list
// grows.
func TestSchemasAreCompiledOnce(t *testing.T) {
	list := server(t, "one", 0).rules(rulesFor("hide")).tools("a", "b")
	off := snapshot(standard(stylePrefix), list)
	if argumentsOf(t, off, "one_a") != nil {
		t.Error("compiled without validateArguments")
	}
	on := Build(off, []Source{list.rules(refuses).Source}, standard(stylePrefix))
	a := argumentsOf(t, on, "one_a")
	if a == nil {
		t.Fatal("the schema was not compiled after the rule became refuse")
	}
	longer := Build(on, []Source{list.tools("c").Source}, standard(stylePrefix))
	if argumentsOf(t, longer, "one_a") != a || argumentsOf(t, longer, "one_c") == nil {
		t.Error("an unchanged definition was compiled again, or a new one was not")
	}
	if again := Build(longer, []Source{list.rules(func(s *config.Server) { s.ValidateArguments = "off" }).Source}, standard(stylePrefix)); argumentsOf(t, again, "one_a") != nil {
		t.Error("arguments are validated after the rule became off")
	}
}

// All compiled schemas of a server share one budget, even if its list grows step by step. A warning names the tools
// whose arguments are not validated.
func TestCompiledSchemasShareABudget(t *testing.T) {
	large := func(name string) string {
		var properties []string
		for i := range 1500 {
			properties = append(properties, fmt.Sprintf(`"p%d":{"type":"string"}`, i))
		}
		return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object","properties":{%s}}}`, name, strings.Join(properties, ","))
	}
	list := server(t, "one", 0).rules(refuses)
	s := snapshot(standard(stylePrefix), list)
	const tools = 80
	for i := range tools {
		s = Build(s, []Source{list.add(protocol.Tools, large(fmt.Sprintf("t%02d", i))).Source}, standard(stylePrefix))
	}
	checked := 0
	for i := range tools {
		if argumentsOf(t, s, fmt.Sprintf("one_t%02d", i)) != nil {
			checked++
		}
	}
	if want := maxCompiled/1501 + 1; checked != want {
		t.Errorf("the arguments of %d tools are validated, want %d", checked, want)
	}
	want := `one: validateArguments: arguments of "t67" (and 12 more) are not checked: the inputSchema is invalid or names an unknown $schema, or the total size of the server's schemas exceeds the limit`
	if !slices.Contains(s.Warnings(), want) {
		t.Errorf("warnings %q, want one that is %s", s.Warnings(), want)
	}
}

// A tool whose schema cannot be used is named in a warning, and its calls pass.
func TestUncheckedToolsAreNamed(t *testing.T) {
	for name, definition := range map[string]string{
		"dialect": `{"name":"odd","inputSchema":{"$schema":"https://example.org/other","type":"object"}}`,
		"invalid": `{"name":"odd","inputSchema":{"type":"object","properties":{"a":{"type":"int"}}}}`,
	} {
		s := snapshot(standard(stylePrefix), server(t, "one", 0).rules(refuses).rules(rulesFor("show")).tools("a").add(protocol.Tools, definition))
		if argumentsOf(t, s, "one_odd") != nil || len(s.Warnings()) != 1 || !strings.Contains(s.Warnings()[0], `arguments of "odd" are not checked`) {
			t.Errorf("%s: warnings %q, want one that names odd, whose schema is not compiled", name, s.Warnings())
		}
	}
}
