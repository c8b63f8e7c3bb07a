package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

const (
	brokenInput  = `{"name":"bad","inputSchema":{"type":"object","properties":{"n":{"type":"int"}}}}`
	brokenOutput = `{"name":"half","inputSchema":{"type":"object"},"outputSchema":{"type":"array","items":7}}`
)

func rulesFor(invalid string) func(*config.Server) {
	return func(s *config.Server) { s.Tools.Invalid = invalid }
}

// An invalid tool is neither listed nor found. If only its outputSchema is invalid, the tool is listed without it. Other
// tools stay unchanged.
func TestInvalidToolsAreHidden(t *testing.T) {
	s := snapshot(standard(stylePrefix), server(t, "odd", 0).rules(rulesFor("hide")).tools("good").add(protocol.Tools, brokenInput, brokenOutput))
	v := s.Whole()
	if got := listedTools(v); !slices.Equal(got, []string{"odd_good", "odd_half"}) {
		t.Errorf("listed %v, want odd_good and odd_half", got)
	}
	for _, name := range []string{"bad", "odd_bad", "odd:bad", "odd/bad"} {
		_, fault := v.Tool(name)
		if fault == nil || fault.Name != protocol.ToolNotFound || !strings.Contains(fault.Message, "(server odd hides it because its definition is invalid: /inputSchema/properties/n/type: ") {
			t.Errorf("calling %s: %+v, want the reason", name, fault)
		}
	}
	half, fault := v.Tool("odd_half")
	if fault != nil || strings.Contains(string(half.Raw()), `"outputSchema"`) ||
		!strings.Contains(string(half.Raw()), `"goblin-actor/fault":"the server's outputSchema was removed because it is invalid: /outputSchema/items: `) {
		t.Errorf("odd_half: %s %v; want it without its outputSchema, and the reason", half.Raw(), fault)
	}
	want := []string{
		`odd: tool "bad" is hidden because its definition is invalid: /inputSchema/properties/n/type: want one of the types array, boolean, integer, null, number, object and string, found "int"`,
		`odd: tool "half" is listed without its outputSchema, which is invalid: /outputSchema/items: want a schema (an object, true or false), found 7`,
	}
	if !slices.Equal(s.Warnings(), want) {
		t.Errorf("warnings %q, want %q", s.Warnings(), want)
	}
	if list := s.Invalid("odd"); len(list) != 2 || !list[0].Hidden || list[0].Output || list[1].Hidden || !list[1].Output {
		t.Errorf("Invalid: %+v, want bad hidden and half without its output", list)
	}
}

// With show, an invalid tool is listed unchanged, and Invalid reports it as with hide.
func TestInvalidToolsAreShown(t *testing.T) {
	for _, rule := range []string{"show", "hide", "show"} { // consecutive snapshots: the rule applies although the list stays the same
		list := server(t, "odd", 0).add(protocol.Tools, brokenInput, brokenOutput)
		before := snapshot(standard(stylePrefix), list.rules(rulesFor("hide")))
		s := Build(before, []Source{list.rules(rulesFor(rule)).Source}, standard(stylePrefix))
		names := listedTools(s.Whole())
		if rule == "hide" {
			if !slices.Equal(names, []string{"odd_half"}) {
				t.Errorf("with hide, listed %v; want odd_half", names)
			}
			continue
		}
		if !slices.Equal(names, []string{"odd_bad", "odd_half"}) || len(s.Invalid("odd")) != 2 {
			t.Errorf("with show, listed %v, invalid %v; want bad and half in both", names, s.Invalid("odd"))
		}
		if half, _ := s.Whole().Tool("half"); !strings.Contains(string(half.Raw()), `"outputSchema":{"type":"array","items":7}`) {
			t.Errorf("show modifies the definition: %s", half.Raw())
		}
	}
}

// An unchanged definition is not checked again when its list changes.
func TestUnchangedDefinitionsAreNotCheckedAgain(t *testing.T) {
	list := server(t, "odd", 0).rules(rulesFor("hide")).tools("a", "b").add(protocol.Tools, brokenInput)
	before := snapshot(standard(stylePrefix), list)
	valid := before.byName["odd"].lists[protocol.Tools].items[0]
	valid.checked = []byte(brokenInput) // as if it had been valid before
	valid.own = "bad"
	s := Build(before, []Source{list.tools("c").Source}, standard(stylePrefix))
	if names := listedTools(s.Whole()); !slices.Contains(names, "odd_bad") || !slices.Contains(names, "odd_c") {
		t.Errorf("listed %v, want bad as before and c", names)
	}
}

// There is no warning about an invalid tool that the server's rules hide. The fault of a limited view does not reveal
// why a tool is hidden.
func TestInvalidToolsHiddenByRules(t *testing.T) {
	s := snapshot(standard(stylePrefix), server(t, "odd", 0).rules(func(r *config.Server) {
		r.Tools.Invalid, r.Tools.Deny = "hide", []string{"bad"}
	}).add(protocol.Tools, brokenInput).tools("good"))
	if len(s.Warnings())+len(s.Invalid("odd")) > 0 {
		t.Errorf("warnings %q, invalid %v; want none", s.Warnings(), s.Invalid("odd"))
	}
	s = projects(nil, standard(stylePrefix), []*offered{server(t, "odd", 0).rules(rulesFor("hide")).add(protocol.Tools, brokenInput).tools("good")},
		config.Project{Name: "alpha", Tools: config.Filter{Deny: []string{"odd_bad"}}})
	if _, fault := s.Project("alpha").Tool("odd_bad"); strings.Contains(fault.Message, "invalid") {
		t.Errorf("the fault in a project reveals why the tool is hidden: %s", fault.Message)
	}
}

// The server's rules and the caller's spelling are compared with the whole name of an invalid tool, although reports shorten it.
func TestInvalidToolWithALongName(t *testing.T) {
	long := strings.Repeat("x", shown) + "_end"
	list := func() *offered {
		return server(t, "odd", 0).add(protocol.Tools, strings.Replace(brokenInput, "bad", long, 1))
	}
	s := snapshot(standard(stylePrefix), list().rules(func(r *config.Server) { r.Tools.Invalid, r.Tools.Deny = "hide", []string{"*_end"} }))
	if got := s.Invalid("odd"); len(got) != 0 {
		t.Errorf("a tool that the rules hide is reported: %+v", got)
	}
	s = snapshot(standard(stylePrefix), list().rules(rulesFor("hide")))
	if got := s.Invalid("odd"); len(got) != 1 || len(got[0].Own) > shown+len("…") {
		t.Errorf("%+v, want one tool with a shortened name", got)
	}
	for name, want := range map[string]bool{long: true, "odd:" + long: true, strings.Repeat("x", shown) + "…": false} {
		if _, fault := s.Whole().Tool(name); fault == nil || strings.Contains(fault.Message, "hides it because") != want {
			t.Errorf("%s: %+v; want the reason: %t", name, fault, want)
		}
	}
}

func listedTools(v *View) (names []string) {
	for _, e := range v.Entries(protocol.Tools) {
		names = append(names, e.Public)
	}
	return names
}

func BenchmarkBuildChecked(b *testing.B) {
	for _, rule := range []string{"", "hide"} {
		b.Run("rule="+rule, func(b *testing.B) {
			var sources []Source
			for i := range 20 {
				o := server(b, fmt.Sprintf("s%d", i), i).rules(rulesFor(rule))
				for j := range 500 {
					o.Items[protocol.Tools] = append(o.Items[protocol.Tools], fmt.Appendf(nil,
						`{"name":"tool_%d","description":"Creates an issue in a repository.","inputSchema":{"type":"object","properties":{"owner":{"type":"string","description":"Repository owner"},"repo":{"type":"string"},"labels":{"type":"array","items":{"type":"string"}}},"required":["owner","repo"]}}`, j))
				}
				sources = append(sources, o.Source)
			}
			for b.Loop() {
				Build(nil, sources, standard(stylePrefix))
			}
		})
	}
}
