package cluster

import (
	"fmt"
	"testing"
)

func members(names ...string) (list []Member) {
	for i, name := range names {
		list = append(list, Member{Incarnation: fmt.Sprintf("%saaaaaa%d", name, i%6+2), Node: name, Address: name + ":1", Since: int64(i)})
	}
	return list
}

func idOf(t testing.TB, incarnation string) string {
	t.Helper()
	f := facts()
	id, err := secretsOf(t, "a").SealSession(incarnation, &f)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func incarnationOf(m *Member) string {
	if m == nil {
		return ""
	}
	return m.Incarnation
}

// The home is the incarnation that the id names while that is a member and not draining. After that, the heir is the home.
func TestHomes(t *testing.T) {
	id := idOf(t, members("a")[0].Incarnation)
	whole := NewView("", nil, members("a", "b", "c", "d"))
	home, heir := whole.Home(id), whole.Heir(id)
	if home.Node != "a" || heir == nil || heir.Node == "a" {
		t.Fatalf("home %v, heir %v", home, heir)
	}
	gone := NewView("", nil, members("a", "b", "c", "d")[1:])
	if got := gone.Home(id); got.Incarnation != heir.Incarnation {
		t.Errorf("without its home, %s is home; the heir was %s", got.Node, heir.Node)
	}
	draining := members("a", "b", "c", "d")
	draining[0].Draining = true
	if got := NewView("", nil, draining).Home(id); got.Incarnation != heir.Incarnation {
		t.Errorf("while its home drains, %s is home; the heir was %s", got.Node, heir.Node)
	}
	joining := members("a", "b", "c", "d")
	for i := range joining {
		joining[i].Joining = joining[i].Node == heir.Node
	}
	if got := NewView("", nil, joining).Heir(id); got == nil || got.Node == heir.Node {
		t.Errorf("a joining node is heir: %v", got)
	}
	for i := range draining {
		draining[i].Draining = true
	}
	if v := NewView("", nil, draining); v.Home(id).Node != "a" || v.Heir(id) != nil {
		t.Errorf("all stop: home %v, heir %v", v.Home(id), v.Heir(id))
	}
	if v := NewView("", nil, nil); v.Home(id) != nil || v.Heir(id) != nil || v.First("x") != nil {
		t.Error("there is a home without members")
	}
	renewed := members("a", "b")
	renewed[0].Former, renewed[0].Incarnation = []string{renewed[0].Incarnation}, "zaaaaaa2"
	if got := NewView("", nil, renewed).First(id); got.Incarnation != incarnationOf(NewView("", nil, renewed).Home(id)) {
		t.Errorf("a former incarnation is home: %v", got)
	}
}

// Homes are spread evenly, and a member that leaves moves only its own.
func TestRendezvous(t *testing.T) {
	all, fewer := NewView("", nil, members("a", "b", "c")), NewView("", nil, members("a", "b", "c")[:2])
	count := map[string]int{}
	for i := range 3000 {
		key := fmt.Sprintf("key:%d", i)
		was := all.First(key)
		count[was.Node]++
		if now := fewer.First(key); now.Node != was.Node && was.Node != "c" {
			t.Fatalf("%s moved from %s to %s", key, was.Node, now.Node)
		}
	}
	for node, n := range count {
		if n < 900 || n > 1100 {
			t.Errorf("%s is first for %d of 3000 keys", node, n)
		}
	}
}

// Resolve and Mine also know former incarnations; Member and Named know only the current ones.
func TestResolve(t *testing.T) {
	list := members("a", "b", "a")
	list[1].Former = []string{"oldbbbb2"}
	v := NewView(list[0].Incarnation, []string{"oldaaaa2"}, list)
	for incarnation, want := range map[string]string{list[0].Incarnation: "a", list[1].Incarnation: "b", "oldbbbb2": "b", "none2222": ""} {
		got := ""
		if m := v.Resolve(incarnation); m != nil {
			got = m.Node
		}
		if got != want {
			t.Errorf("Resolve(%s) = %q, want %q", incarnation, got, want)
		}
	}
	if v.Member("oldbbbb2") != nil || v.Member(list[1].Incarnation) == nil {
		t.Error("Member finds a former incarnation, or does not find the current one")
	}
	if !v.Mine(list[0].Incarnation) || !v.Mine("oldaaaa2") || v.Mine(list[1].Incarnation) {
		t.Error("Mine is wrong about an incarnation of this or another node")
	}
	if v.Named("a").Incarnation != list[0].Incarnation || v.Named("x") != nil {
		t.Error("Named finds a name that no member has, or the younger of two members with one name")
	}
}

// If there are too many nodes, the oldest ones are the members, in whatever order the candidates are listed.
func TestTooManyMembers(t *testing.T) {
	var list []Member
	for i := range MaxMembers + 3 {
		list = append(list, Member{Incarnation: fmt.Sprintf("aaaaaa%c2", 'a'+i), Since: int64(100 - i/2)})
	}
	v := NewView("", nil, append([]Member{}, list...))
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	w := NewView("", nil, list)
	if len(v.Members) != MaxMembers {
		t.Fatalf("%d members", len(v.Members))
	}
	for i := range v.Members {
		if v.Members[i].Incarnation != w.Members[i].Incarnation {
			t.Errorf("member %d is %s or %s", i, v.Members[i].Incarnation, w.Members[i].Incarnation)
		}
	}
}

func BenchmarkHome(b *testing.B) {
	v := NewView("", nil, members("a", "b", "c", "d", "e", "f", "g", "h"))
	id := idOf(b, members("x", "x", "x", "x", "x", "x", "x", "h")[7].Incarnation)
	b.ReportAllocs()
	for b.Loop() {
		v.Home(id)
	}
}

// Requests of a session look up its home without allocating.
func TestHomeDoesNotAllocate(t *testing.T) {
	list := members("a", "b", "c")
	v, id := NewView("", nil, list), idOf(t, list[1].Incarnation)
	if n := testing.AllocsPerRun(100, func() {
		if m := v.Home(id); m.Incarnation != list[1].Incarnation || !OpenedBy(id, m.Incarnation) || OpenedBy(id, list[0].Incarnation) {
			t.Error("wrong home")
		}
	}); n > 0 {
		t.Errorf("%g allocations", n)
	}
	if OpenedBy("", "") || OpenedBy("2abc", "") || OpenedBy("1"+id[1:], list[1].Incarnation) {
		t.Error("an id of another form names a home")
	}
}
