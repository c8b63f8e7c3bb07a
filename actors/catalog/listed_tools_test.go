package catalog

import (
	"slices"
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// ListedTools returns every item of a server's list of tools, also invalid and hidden ones, with the preferred and the
// actual public name if it has them.
func TestListedTools(t *testing.T) {
	odd := server(t, "odd", 0).rules(func(s *config.Server) {
		s.Tools.Invalid, s.Tools.Deny, s.Tools.Rename = "hide", []string{"denied"}, map[string]string{"old": "new"}
	}).tools("good", "a.b", "good", "denied", "old").add(protocol.Tools, brokenInput, `{"title":"no name"}`)
	list := snapshot(standard(stylePrefix), odd).ListedTools("odd")
	for i := range list {
		list[i].Raw = nil
	}
	want := []ListedTool{
		{Own: "good", Name: "odd_good", Public: "odd_good"},
		{Own: "a.b", Name: "odd_a.b", Public: "odd_a_b"},
		{Own: "good", Again: true},
		{Own: "denied", Denied: true},
		{Own: "old", Name: "odd_new", Public: "odd_new"},
		{Own: "bad"},
		{Fault: "no name"},
	}
	if !slices.EqualFunc(list, want, func(a, b ListedTool) bool {
		return a.Own == b.Own && a.Name == b.Name && a.Public == b.Public && a.Denied == b.Denied && a.Again == b.Again && a.Fault == b.Fault
	}) {
		t.Errorf("got %+v, want %+v", list, want)
	}
}
