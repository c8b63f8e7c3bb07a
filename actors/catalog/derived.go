package catalog

import (
	"maps"
	"sync"
	"sync/atomic"

	"goblin-actor/protocol"
)

// maxDerived is how many views one snapshot keeps that it was asked for; where there are many servers two for each, so that all of their own
// views find room.
const maxDerived = 64

// derived keeps the views that somebody has asked for. It is a memo and nothing else: a view is a function of its snapshot and its key, so
// whoever asks twice, or at once, gets what he would have been given anyway, and no law is broken that snapshots do not change.
// Looking up waits for nobody.
type derived struct {
	views atomic.Pointer[map[Key]*View] // never written to: replaced
	most  int                           // views
	mu    sync.Mutex                    // of whoever replaces it
	lists *keptLists
}

// newDerived is the memo of the snapshot, with that many servers, after the one that previous is of; nil = of the first.
func newDerived(previous *derived, servers int) *derived {
	d := &derived{most: max(maxDerived, 2*servers)}
	if d.views.Store(&map[Key]*View{}); previous != nil {
		d.lists = previous.lists
		return d
	}
	d.lists = &keptLists{lists: map[listKey]*list{}}
	return d
}

// kept returns the view of the key, if it was made; else nil.
func (d *derived) kept(k Key) *View { return (*d.views.Load())[k] }

// view returns the view of the key, and makes it if need be.
func (d *derived) view(k Key, build func() *View) *View {
	if v := d.kept(k); v != nil {
		return v
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	old := *d.views.Load()
	if v := old[k]; v != nil {
		return v
	}
	v := build()
	views := maps.Clone(old)
	for other := range views { // any of them: whoever uses it keeps it himself, or has it made again
		if len(views) < d.most {
			break
		}
		delete(views, other)
	}
	views[k] = v
	d.views.Store(&views)
	return v
}

type listKey struct {
	view Key
	kind protocol.ItemKind
}

// keptLists are the newest lists of the views of rights, from snapshot to snapshot: one whose entries are the same has its
// pages made already. A memo, too: pages depend on nothing but the entries.
type keptLists struct {
	mu    sync.Mutex
	lists map[listKey]*list
}

func (k *keptLists) following(of listKey, entries []*Entry, sorted bool, size int) *list {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lists[of] == nil && len(k.lists) >= maxDerived*protocol.ItemKinds {
		clear(k.lists)
	}
	l := k.lists[of].following(of.kind, entries, sorted, size)
	k.lists[of] = l
	return l
}
