package catalog

import (
	"maps"
	"sync"
	"sync/atomic"

	"goblin-actor/protocol"
)

// maxDerived is the number of derived views that a snapshot keeps. With many servers it keeps two per server, so that
// every server's view can be kept.
const maxDerived = 64

// derived caches views by key. A view is a pure function of its snapshot and key, so an evicted view can be built again.
// Looking up a cached view never blocks. Views are built one at a time.
type derived struct {
	views atomic.Pointer[map[Key]*View] // replaced, never modified
	most  int                           // limit of views
	mu    sync.Mutex                    // held while a view is built and views is replaced
	lists *listCache
}

// newDerived returns the cache for a snapshot with the given number of servers. The parameter previous is the cache of the
// preceding snapshot, or nil.
func newDerived(previous *derived, servers int) *derived {
	d := &derived{most: max(maxDerived, 2*servers)}
	if d.views.Store(&map[Key]*View{}); previous != nil {
		d.lists = previous.lists
		return d
	}
	d.lists = &listCache{lists: map[listKey]*list{}}
	return d
}

// cached returns the cached view, or nil.
func (d *derived) cached(k Key) *View { return (*d.views.Load())[k] }

// view returns the view of the key, from the cache or newly built.
func (d *derived) view(k Key, build func() *View) *View {
	if v := d.cached(k); v != nil {
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
	for other := range views { // evict an arbitrary view: its users keep their reference, and a later request builds it again
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

// listCache caches, across snapshots, the newest lists of the views that rights restrict. A new list with the same entries
// reuses the rendered pages.
type listCache struct {
	mu    sync.Mutex
	lists map[listKey]*list
}

func (k *listCache) following(of listKey, entries []*Entry, sorted bool, size int) *list {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lists[of] == nil && len(k.lists) >= maxDerived*protocol.ItemKinds {
		clear(k.lists)
	}
	l := k.lists[of].following(of.kind, entries, sorted, size)
	k.lists[of] = l
	return l
}
