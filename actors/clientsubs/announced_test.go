package clientsubs

import (
	"slices"
	"testing"

	"goblin-actor/actors/catalog"
	"goblin-actor/protocol"
)

func TestAnnouncedDue(t *testing.T) {
	generation := [protocol.ItemKinds]uint64{protocol.Tools: 3, protocol.Prompts: 5, protocol.Resources: 7, protocol.Templates: 9}
	for _, test := range []struct {
		name    string
		changed []protocol.ItemKind // since they were announced
		want    []protocol.ItemKind
	}{
		{"nothing", nil, nil},
		{"tools", []protocol.ItemKind{protocol.Tools}, []protocol.ItemKind{protocol.Tools}},
		{"prompts", []protocol.ItemKind{protocol.Prompts}, []protocol.ItemKind{protocol.Prompts}},
		{"resources", []protocol.ItemKind{protocol.Resources}, []protocol.ItemKind{protocol.Resources}},
		{"templates are announced with resources", []protocol.ItemKind{protocol.Templates}, []protocol.ItemKind{protocol.Resources}},
		{"resources and templates are announced once", []protocol.ItemKind{protocol.Resources, protocol.Templates}, []protocol.ItemKind{protocol.Resources}},
		{"everything", []protocol.ItemKind{protocol.Tools, protocol.Prompts, protocol.Resources, protocol.Templates}, []protocol.ItemKind{protocol.Tools, protocol.Prompts, protocol.Resources}},
	} {
		view := *catalog.Build(nil, nil, catalog.Naming{}).Whole()
		view.Generation = generation
		a := Announced(generation)
		for _, kind := range test.changed {
			a[kind]--
		}
		got := a.Due(&view)
		slices.Sort(got)
		slices.Sort(test.want)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: due %v, want %v", test.name, got, test.want)
		}
		if again := a.Due(&view); len(again) > 0 {
			t.Errorf("%s: due again: %v", test.name, again)
		}
	}
}

// A client whose view changes within one snapshot is notified of lists that differ, and of changes not yet announced.
func TestAnnouncedCarry(t *testing.T) {
	view := func(tool string) *catalog.View {
		source := catalog.Source{Server: &catalog.Server{Name: "one"}}
		source.Items[protocol.Tools] = [][]byte{[]byte(`{"name":"` + tool + `","inputSchema":{"type":"object"}}`)}
		view := *catalog.Build(nil, []catalog.Source{source}, catalog.Naming{}).Whole()
		return &view
	}
	was, now := view("a"), view("b")
	was.Generation = [protocol.ItemKinds]uint64{2, 2, 2, 2}
	now.Generation = [protocol.ItemKinds]uint64{3, 4, 5, 6}
	a := Announced{2, 2, 1, 2}
	a.Carry(was, now)
	if want := (Announced{0, 4, 0, 6}); a != want { // the tools differ, and a change of the resources was not announced yet
		t.Errorf("got %v, want %v", a, want)
	}
}
