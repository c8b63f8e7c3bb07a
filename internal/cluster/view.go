package cluster

import (
	"slices"
	"strings"
)

// MaxMembers is the maximum number of members of a cluster. Further nodes are refused.
const MaxMembers = 16

// Member is a node of the cluster, as its last beat describes it.
type Member struct {
	Incarnation string
	Former      []string // former incarnations of the process, newest first
	Node        string   // name of the node
	Address     string   // where the node accepts requests of other nodes, as host:port
	Version     string   // of the program
	Since       int64    // start of the incarnation, in Unix milliseconds of the node's clock
	Joining     bool     // the node is not ready yet
	Draining    bool     // the node stops soon
}

// settled reports whether the member may become the home of a session.
func (m *Member) settled() bool { return !m.Joining && !m.Draining }

// is reports whether the member's process has or had the incarnation.
func (m *Member) is(incarnation string) bool {
	return m.Incarnation == incarnation || slices.Contains(m.Former, incarnation)
}

// View is what one node knows about the members of its cluster. It is immutable. At rest, the views of all nodes have the
// same members.
type View struct {
	Self    string   // incarnation of this node
	Former  []string // former incarnations of this process, newest first
	Members []Member // sorted by Since and Incarnation. This node may be missing, if it is refused or was just given up
}

// NewView returns the view of the node self. If there are more than MaxMembers candidates, the oldest incarnations are the
// members. The view owns the slices.
func NewView(self string, former []string, candidates []Member) *View {
	slices.SortFunc(candidates, func(a, b Member) int {
		switch {
		case a.Since < b.Since:
			return -1
		case a.Since > b.Since:
			return 1
		}
		return strings.Compare(a.Incarnation, b.Incarnation)
	})
	return &View{Self: self, Former: former, Members: shorten(candidates, MaxMembers)}
}

// Member returns the member with the incarnation, or nil if it is not a member. Former incarnations do not count.
func (v *View) Member(incarnation string) *Member {
	for i := range v.Members {
		if v.Members[i].Incarnation == incarnation {
			return &v.Members[i]
		}
	}
	return nil
}

// Ready reports whether this node is a member that may serve clients.
func (v *View) Ready() bool {
	m := v.Member(v.Self)
	return m != nil && !m.Joining
}

// Mine reports whether this process has or had the incarnation.
func (v *View) Mine(incarnation string) bool {
	return incarnation == v.Self || slices.Contains(v.Former, incarnation)
}

// Resolve returns the member whose process has or had the incarnation, or nil if there is none.
func (v *View) Resolve(incarnation string) *Member {
	for i := range v.Members {
		if v.Members[i].is(incarnation) {
			return &v.Members[i]
		}
	}
	return nil
}

// Named returns the member that is the node with that name, or nil. Of several members with one name, it is the one that
// started first, so that a node that is started twice by mistake takes nothing over.
func (v *View) Named(node string) *Member {
	for i := range v.Members {
		if v.Members[i].Node == node {
			return &v.Members[i]
		}
	}
	return nil
}

// Home returns the member that is the home of the session with that id: the one that the id names or, if it is draining or
// no longer a member, First. If all other members are joining or draining too, a draining member stays the home of its
// sessions. Home returns nil if there are no members.
func (v *View) Home(id string) *Member {
	named := v.named(id)
	if named != nil && !named.Draining {
		return named
	}
	if first := v.First(id); first != nil && first.settled() {
		return first
	}
	if named != nil {
		return named // no other member is settled
	}
	return v.First(id)
}

// Heir returns the member that becomes the session's home when its present home is gone, or nil if no other member can.
func (v *View) Heir(id string) *Member {
	home := v.Home(id)
	return v.first(id, func(m *Member) bool { return m.settled() && m != home })
}

// Other returns another member that can serve any client, or nil if there is none. For equal keys it is the same member.
func (v *View) Other(key string) *Member {
	return v.first(key, func(m *Member) bool { return m.settled() && m.Incarnation != v.Self })
}

// named returns the member that a session id names as its home, or nil.
func (v *View) named(id string) *Member {
	head, ok := headOf(id)
	if !ok {
		return nil
	}
	for i := range v.Members {
		if v.Members[i].Incarnation == string(head[headSize-IncarnationLength:]) { // does not allocate
			return &v.Members[i]
		}
	}
	return nil
}

// First returns the member that comes first for a key by rendezvous hash. A member that joins or leaves changes the result
// only for keys for which it comes first. Members that are not ready yet or stop soon are chosen only if there are no
// others. The result is nil if there are no members.
func (v *View) First(key string) *Member {
	if first := v.first(key, (*Member).settled); first != nil {
		return first
	}
	return v.first(key, func(*Member) bool { return true })
}

func (v *View) first(key string, eligible func(*Member) bool) (first *Member) {
	var most uint64
	for i := range v.Members {
		m := &v.Members[i]
		if !eligible(m) {
			continue
		}
		if n := weight(key, m.Incarnation); first == nil || n > most || n == most && m.Incarnation < first.Incarnation {
			first, most = m, n
		}
	}
	return first
}

// weight returns the weight of a member for a key: the 64-bit FNV-1a hash of both, whose bits are then mixed as in
// SplitMix64, because the last characters of the input change only a few bits of an FNV hash.
func weight(key, incarnation string) uint64 {
	h := uint64(14695981039346656037)
	for _, s := range [...]string{incarnation, key} {
		for i := range len(s) {
			h = (h ^ uint64(s[i])) * 1099511628211
		}
	}
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// Equal reports whether two views are equal.
func (v *View) Equal(other *View) bool {
	return v.Self == other.Self && slices.Equal(v.Former, other.Former) && slices.EqualFunc(v.Members, other.Members, func(a, b Member) bool {
		return a.Incarnation == b.Incarnation && slices.Equal(a.Former, b.Former) && a.Node == b.Node && a.Address == b.Address &&
			a.Version == b.Version && a.Since == b.Since && a.Joining == b.Joining && a.Draining == b.Draining
	})
}
