package catalog

import (
	"strings"
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
)

// A server that stands for a member of a group is part of no view, except its own one for nodes of the cluster. Its changes do not
// change what clients see.
func TestMemberServersAreHidden(t *testing.T) {
	group := server(t, "both", 0).tools("x")
	member := server(t, "first", 1).tools("x", "y").resources("f:///1").rules(func(s *config.Server) { s.MemberOf = "both" })
	s := Build(nil, []Source{group.Source, member.Source}, standard(stylePrefix), config.Project{Name: "p"})
	for _, k := range []Key{{}, {Rights: identity.AllRights}, {Project: "p"}} {
		v, ok := s.View(k)
		if !ok || v.Has("first") || len(v.Servers()) != 1 {
			t.Errorf("%+v: the member is visible: %v", k, v.Servers())
		}
		if _, fault := v.Resource("resource://first/f:///1"); fault == nil || strings.Contains(fault.Message, "project") {
			t.Errorf("%+v: a resource of the member: %v", k, fault)
		}
	}
	for _, k := range []Key{{Server: "first"}, {Server: "first", Project: "p"}, {Server: "first", Rights: "reader"}} {
		if _, ok := s.View(k); ok {
			t.Errorf("%+v: clients see the member", k)
		}
	}
	node := Key{Server: "first", Rights: identity.AllRights}
	v, ok := s.View(node)
	if !ok || len(v.lists[protocol.Tools].entries) != 2 || len(v.lists[protocol.Resources].entries) != 1 {
		t.Fatalf("nodes see the member: %v", ok)
	}
	changed := server(t, "first", 1).tools("x").rules(func(s *config.Server) { s.MemberOf = "both" })
	changed.Announced[protocol.Tools] = true
	next := Build(s, []Source{group.Source, changed.Source}, standard(stylePrefix), config.Project{Name: "p"})
	after, _ := next.View(node)
	if next.Generation != s.Generation || after.Generation[protocol.Tools] == v.Generation[protocol.Tools] {
		t.Errorf("generations: clients %v, before %v; nodes %v, before %v", next.Generation, s.Generation, after.Generation, v.Generation)
	}
}
