package cluster

import "sync/atomic"

// Members holds the newest View of a node. Reading it never blocks. It is safe for concurrent use.
type Members struct {
	view    atomic.Pointer[View]
	changed func(before, after *View) // nil = Watch was not called
}

// NewMembers returns the members that a node of that incarnation knows before the first Set: none, not even itself.
func NewMembers(incarnation string) *Members {
	m := &Members{}
	m.Set(NewView(incarnation, nil, nil))
	return m
}

// View returns the newest view.
func (m *Members) View() *View { return m.view.Load() }

// Set replaces the view. Calls of Set must not overlap.
func (m *Members) Set(v *View) {
	if before := m.view.Swap(v); before != nil && m.changed != nil {
		m.changed(before, v)
	}
}

// Watch makes Set call changed, which must not block. Watch must be called before the first Set.
func (m *Members) Watch(changed func(before, after *View)) { m.changed = changed }

// Self returns the incarnation of this node. It changes when the cluster has given the node up.
func (m *Members) Self() string { return m.View().Self }

// Mine reports whether this process has or had the incarnation.
func (m *Members) Mine(incarnation string) bool { return m.View().Mine(incarnation) }

// Resolve returns the name and address of the node whose process has or had the incarnation, or false if it is not a member.
func (m *Members) Resolve(incarnation string) (node, address string, ok bool) {
	if of := m.View().Resolve(incarnation); of != nil {
		return of.Node, of.Address, true
	}
	return "", "", false
}
