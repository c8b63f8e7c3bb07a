package catalog

import (
	"testing"

	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// An item keeps its counters when its server's list changes, and when it is missing from the list for a while. Other items
// have their own counters.
func TestUsageSurvivesChangedLists(t *testing.T) {
	m := status.NewMetrics()
	build := func(before *Snapshot, tools ...string) *Snapshot {
		return Build(before, []Source{
			server(t, "a", 1).tools(tools...).Source,
			server(t, "b", 2).tools("read").Source,
		}, standard(stylePrefix))
	}
	usage := func(s *Snapshot, name string) *status.ItemCounters {
		t.Helper()
		e, fault := s.Whole().Tool(name)
		if fault != nil {
			t.Fatal(fault)
		}
		return e.Usage(m.Server(e.Server.Name))
	}
	first := build(nil, "read", "write")
	read := usage(first, "a_read")
	if usage(first, "a_read") != read || usage(first, "a_write") == read || usage(first, "b_read") == read {
		t.Error("items share counters, or an item has several")
	}
	second := build(first, "write", "read", "new")
	third := build(second, "new")
	fourth := build(third, "read")
	if usage(second, "a_read") != read || usage(fourth, "a_read") != read {
		t.Error("a changed list lost the counters")
	}
	m.Server("a").Ended(status.Ended{Method: protocol.MethodToolsCall, Counters: usage(fourth, "a_read")})
	if u := m.Usage(); len(u) != 1 || u[0].Original != "read" || u[0].Public != "a_read" || u[0].Calls != 1 {
		t.Errorf("usage %+v, want one call of a_read", u)
	}
}
