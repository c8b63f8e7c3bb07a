package catalog

import (
	"slices"
	"strings"

	"goblin-actor/protocol"
)

// noProjects is the Key.Projects of a principal without any project. No project has an empty name.
const noProjects = ","

// EncodeProjects encodes Key.Projects: the projects a principal may use, sorted and without duplicates. nil = everything.
func EncodeProjects(projects []string) string {
	switch {
	case projects == nil:
		return ""
	case len(projects) == 0:
		return noProjects
	case len(projects) == 1:
		return projects[0]
	}
	sorted := slices.Sorted(slices.Values(projects))
	return strings.Join(slices.Compact(sorted), ",")
}

// union returns the view of all items that at least one of the key's projects shows, each under the key's rights in
// that project. The union of one project is that project's view. Missing projects show nothing.
func (s *Snapshot) union(k Key) *View {
	if one, ok := s.part(Key{Project: k.Projects, Rights: k.Rights, Policy: k.Policy}); ok {
		return one
	}
	if v := s.derived.cached(k); v != nil {
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
		v := s.buildUnion(parts)
		v.beyond, v.report = s.unionOf(parts, (*View).Beyond), s.unionOf(parts, (*View).Reported)
		return v
	})
}

// buildUnion builds the union of views. A list's generation changes if it does in one of them.
func (s *Snapshot) buildUnion(parts []*View) *View {
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

// unionOf returns the union of a related view of each part, or nil if no part has one.
func (s *Snapshot) unionOf(parts []*View, of func(*View) *View) *View {
	var besides []*View
	for _, part := range parts {
		if v := of(part); v != nil {
			besides = append(besides, v)
		}
	}
	if len(besides) == 0 {
		return nil
	}
	return s.buildUnion(besides)
}

// SameList reports whether clients of two views of one snapshot see the same list of a kind.
func (v *View) SameList(kind protocol.ItemKind, other *View) bool {
	return v == other || sameEntries(v.listed(kind).entries, other.listed(kind).entries)
}
