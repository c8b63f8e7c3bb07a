package catalog

import (
	"slices"
	"strings"

	"goblin-actor/protocol"
)

// none is the Key.Projects of a principal without any project. No project has an empty name.
const none = ","

// Together encodes Key.Projects: the projects a principal may use, sorted and without duplicates. nil = everything.
func Together(projects []string) string {
	switch {
	case projects == nil:
		return ""
	case len(projects) == 0:
		return none
	case len(projects) == 1:
		return projects[0]
	}
	sorted := slices.Sorted(slices.Values(projects))
	return strings.Join(slices.Compact(sorted), ",")
}

// together is what several projects show of what the rights permit in each, each item once. Of one it is that project's own view. Those
// that are not there show nothing.
func (s *Snapshot) together(k Key) *View {
	if one, ok := s.part(Key{Project: k.Projects, Rights: k.Rights, Policy: k.Policy}); ok {
		return one
	}
	if v := s.derived.kept(k); v != nil {
		return v
	}
	var parts []*View
	for name := range strings.SplitSeq(k.Projects, ",") {
		if name == "" {
			continue
		}
		if v, ok := s.part(Key{Project: name, Rights: k.Rights, Policy: k.Policy}); ok {
			parts = append(parts, v)
		}
	}
	return s.derived.view(k, func() *View {
		v := s.buildTogether(parts)
		v.beyond, v.report = s.besides(parts, (*View).Beyond), s.besides(parts, (*View).Reported)
		return v
	})
}

// buildTogether builds the view. A list changes when it changes in one of the parts.
func (s *Snapshot) buildTogether(parts []*View) *View {
	if len(parts) == 0 {
		return s.Nothing()
	}
	whole := s.main
	v := &View{
		snapshot: s, pass: whole.pass, scope: &scope{parts: parts},
		ordered: whole.ordered, names: whole.names, resources: whole.resources, templates: whole.templates, linked: whole.linked,
	}
	for _, server := range s.servers {
		if slices.ContainsFunc(parts, func(part *View) bool { return slices.Contains(part.servers, server) }) {
			v.servers = append(v.servers, server)
		}
	}
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		v.shown[kind] = make(marks, (len(whole.ordered[kind])+63)/64)
		for _, part := range parts {
			for i := range part.shown[kind] {
				v.shown[kind][i] |= part.shown[kind][i]
			}
			v.Generation[kind] = mix(v.Generation[kind], part.Generation[kind])
		}
		var entries []*Entry
		for _, it := range whole.ordered[kind] {
			if v.shown[kind].has(it.place) {
				entries = append(entries, it.entry)
			}
		}
		v.lists[kind] = newList(kind, entries, !v.pass, s.naming.PageSize)
		v.listMeta(kind)
	}
	v.findSilent()
	v.instructions = instructions(v.introduction(), v.servers, v.pass)
	return v
}

// besides makes the view of what the parts have beside them; nil when they have nothing.
func (s *Snapshot) besides(parts []*View, of func(*View) *View) *View {
	var besides []*View
	for _, part := range parts {
		if v := of(part); v != nil {
			besides = append(besides, v)
		}
	}
	if len(besides) == 0 {
		return nil
	}
	return s.buildTogether(besides)
}

// Lists reports whether clients of both views see the same list of a kind.
func (v *View) Lists(kind protocol.ItemKind, other *View) bool {
	return v == other || sameEntries(v.listed(kind).entries, other.listed(kind).entries)
}
