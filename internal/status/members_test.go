package status

import "testing"

// Members returns the members of a group by name, with the state of their connections.
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
		t.Errorf("Members: got %+v", got)
	}
	if len(s.Members("solo")) != 0 || s.Member("solo") != nil || s.Member("b") == nil || s.Member("absent") != nil {
		t.Error("Member: got a wrong member, or none")
	}
}
