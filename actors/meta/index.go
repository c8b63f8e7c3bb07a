package meta

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"

	"goblin-actor/actors/catalog"
	"goblin-actor/protocol"
)

const (
	leastGarbage = 1000     // removed documents above which the index may be rebuilt
	maxIndex     = 64 << 20 // bytes of text in the index; items beyond that are not found
)

// index is a full-text index of the whole catalog, ranked by BM25. The first search builds it, and later searches
// update it to the newest snapshot. It is safe for concurrent use.
type index struct {
	mu      sync.RWMutex
	ranking *ranking // nil until built
	version uint64   // of the indexed snapshot
	items   map[string]indexedItem
	size    int // bytes of indexed text
	garbage int // replaced or removed documents that still take memory
	closed  bool
}

// indexedItem is an item in the index.
type indexedItem struct {
	entry  *catalog.Entry
	number int // of its document
	size   int // bytes of its text
}

// toolID is the first byte of a tool's documentID.
const toolID = 'a' + byte(protocol.Tools)

// documentID identifies an item independently of its public name.
func documentID(e *catalog.Entry) string {
	return string(rune('a'+e.Kind)) + e.Server.Name + "\x00" + e.Original
}

// entryOf returns the item with that documentID, or nil if the view does not contain it.
func entryOf(view *catalog.View, id string) *catalog.Entry {
	server, own, ok := strings.Cut(id, "\x00")
	if !ok || server == "" {
		return nil
	}
	return view.Entry(protocol.ItemKind(server[0]-'a'), server[1:], own)
}

// twinOf returns the prompt in view with the name and server of a tool, or the tool of a prompt, or nil if there is
// none.
func twinOf(view *catalog.View, e *catalog.Entry) *catalog.Entry {
	var twin *catalog.Entry
	switch e.Kind {
	case protocol.Tools:
		twin = view.Entry(protocol.Prompts, e.Server.Name, e.Original)
	case protocol.Prompts:
		twin = view.Entry(protocol.Tools, e.Server.Name, e.Original)
	}
	if twin == nil || twin.Public != e.Public {
		return nil
	}
	return twin
}

// find returns the best n items that match any of the words, are in view and satisfy admits, and the number of all
// such items. If a tool and a prompt share name and server and both match, only the tool is found.
func (x *index) find(ctx context.Context, a *access, text string, n int, admits func(*catalog.Entry) bool) ([]*catalog.Entry, int, error) {
	if err := x.follow(a.snapshot); err != nil {
		return nil, 0, err
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.closed {
		return nil, 0, errDropped
	}
	hits, total, err := x.ranking.best(ctx, x.ranking.concepts(text), n, func(id string, matches func(number int) bool) bool {
		e := entryOf(a.view, id)
		if e == nil || !admits(e) {
			return false
		}
		if e.Kind != protocol.Prompts {
			return true
		}
		tool := twinOf(a.view, e)
		return tool == nil || !admits(tool) || !x.holds(tool, matches)
	})
	if err != nil {
		return nil, 0, fmt.Errorf("search: %w", err)
	}
	list := make([]*catalog.Entry, 0, len(hits))
	for _, h := range hits {
		list = append(list, entryOf(a.view, h.id))
	}
	return list, total, nil
}

// holds reports whether an item is indexed and its document satisfies matches.
func (x *index) holds(e *catalog.Entry, matches func(number int) bool) bool {
	h, ok := x.items[documentID(e)]
	return ok && matches(h.number)
}

// follow updates the index to the snapshot. Only differences are written.
func (x *index) follow(snapshot *catalog.Snapshot) error {
	x.mu.RLock()
	current := x.ranking != nil && x.version >= snapshot.Version
	x.mu.RUnlock()
	if current {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.closed:
		return errDropped
	case x.ranking != nil && x.version >= snapshot.Version: // another search has updated it
		return nil
	case x.ranking == nil || x.garbage > leastGarbage+len(x.items): // a rebuild frees the replaced documents
		x.ranking, x.items, x.size, x.garbage = newRanking(), map[string]indexedItem{}, 0, 0
	}
	x.update(snapshot.Whole())
	x.version = snapshot.Version
	return nil
}

// update adds the new and changed items of the view and removes those that it no longer has.
func (x *index) update(view *catalog.View) {
	for id := range x.items {
		if entryOf(view, id) == nil {
			x.drop(id)
		}
	}
	stems := stemmer{}
	var terms [fields][]string // of one item, reused
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		for _, e := range view.Entries(kind) {
			id := documentID(e)
			old, has := x.items[id]
			if has && (old.entry == e || bytes.Equal(old.entry.Source, e.Source)) {
				x.items[id] = indexedItem{e, old.number, old.size} // releases the older entry
				continue
			}
			if has {
				x.drop(id)
			}
			d := documentOf(e)
			size := d.size()
			if x.size+size > maxIndex {
				continue
			}
			x.size += size
			for field, text := range d {
				terms[field] = stems.terms(terms[field][:0], text)
			}
			x.items[id] = indexedItem{e, x.ranking.add(id, terms), size}
		}
	}
}

// drop removes an item.
func (x *index) drop(id string) {
	x.ranking.drop(x.items[id].number)
	x.size -= x.items[id].size
	delete(x.items, id)
	x.garbage++
}

// close releases the memory. Later searches fail with errDropped.
func (x *index) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	x.ranking, x.items = nil, nil
}
