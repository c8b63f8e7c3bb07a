package status

import "testing"

// The members of a group are shown by their own names, each with what its connections are.
func TestMembers(t *testing.T) {
	s := &Snapshot{
		Servers: []Server{{Name: "forge", Tools: 4, Settled: true}, {Name: "solo"}},
		Backends: []Backend{
			{Server: "forge", Member: "a", Replica: 0, Catalog: true, State: "ready"},
			{Server: "forge", Member: "a", Replica: 0, State: "ready"}, // carries calls only
			{Server: "forge", Member: "a", Replica: 1, Catalog: true, State: "waiting", Reason: "gone"},
			{Server: "forge", Member: "b", Replica: 2, Catalog: true, State: "draining"},
			{Server: "forge", Member: "b", Replica: 2, Catalog: true, State: "waiting", Reason: "no such file"},
			{Server: "solo", Replica: 0, Catalog: true, State: "ready"},
		},
	}
	got := s.Members("forge")
	if len(got) != 2 || got[0].Name != "a" || got[0].Standing() != "1/2 ready" || got[0].Tools != 4 || got[1].Standing() != "waiting" || got[1].Reason != "no such file" {
		t.Errorf("members %+v", got)
	}
	if len(s.Members("solo")) != 0 || s.Member("solo") != nil || s.Member("b") == nil || s.Member("nobody") != nil {
		t.Error("members are found that are none, or not found")
	}
}
