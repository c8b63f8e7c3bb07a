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
	leastGarbage = 1000     // documents that are gone; with fewer the index is not made anew
	maxIndex     = 64 << 20 // bytes of text in the index; items beyond that are not found
)

// index finds the items of the whole catalog by words, ranked by BM25. It is made at the first search and follows the snapshots
// from search to search. Safe from any goroutine.
type index struct {
	mu      sync.RWMutex
	ranking *ranking // nil = not made yet
	version uint64   // of the snapshot it holds
	held    map[string]held
	size    int // bytes of text it holds
	garbage int // documents that were replaced or deleted, and are in memory all the same
	closed  bool
}

// held is an item in the index.
type held struct {
	entry  *catalog.Entry
	number int // of its document
	size   int // bytes of its text
}

// toolID begins the documentID of each tool.
const toolID = 'a' + byte(protocol.Tools)

// documentID names an item whatever clients call it.
func documentID(e *catalog.Entry) string {
	return string(rune('a'+e.Kind)) + e.Server.Name + "\x00" + e.Original
}

// seen returns the item of that document, if it is in view.
func seen(view *catalog.View, id string) *catalog.Entry {
	server, own, ok := strings.Cut(id, "\x00")
	if !ok || server == "" {
		return nil
	}
	return view.Entry(protocol.ItemKind(server[0]-'a'), server[1:], own)
}

// twinOf returns the prompt in view that has name and server of a tool, or the tool of a prompt; nil = there is none.
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

// find returns the best n items that hold any of the words, are in view and admitted, and how many there are. Of a tool and a prompt of
// one name and server it finds the tool only, if both match.
func (x *index) find(ctx context.Context, a *asked, text string, n int, admits func(*catalog.Entry) bool) ([]*catalog.Entry, int, error) {
	if err := x.follow(a.snapshot); err != nil {
		return nil, 0, err
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.closed {
		return nil, 0, errGoing
	}
	hits, total, err := x.ranking.best(ctx, x.ranking.concepts(text), n, func(id string, matches func(number int) bool) bool {
		e := seen(a.view, id)
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
		list = append(list, seen(a.view, h.id))
	}
	return list, total, nil
}

// holds reports whether an item is in the index and matches.
func (x *index) holds(e *catalog.Entry, matches func(number int) bool) bool {
	h, ok := x.held[documentID(e)]
	return ok && matches(h.number)
}

// follow makes the index what the snapshot is. Only what differs is written.
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
		return errGoing
	case x.ranking != nil && x.version >= snapshot.Version: // somebody else was quicker
		return nil
	case x.ranking == nil || x.garbage > leastGarbage+len(x.held): // replaced documents go with the index that holds them
		x.ranking, x.held, x.size, x.garbage = newRanking(), map[string]held{}, 0, 0
	}
	x.update(snapshot.Whole())
	x.version = snapshot.Version
	return nil
}

// update takes in what the view has and the index has not, and drops the rest.
func (x *index) update(view *catalog.View) {
	for id := range x.held {
		if seen(view, id) == nil {
			x.drop(id)
		}
	}
	stems := stemmer{}
	var terms [fields][]string // of one item
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		for _, e := range view.Entries(kind) {
			id := documentID(e)
			old, has := x.held[id]
			if has && (old.entry == e || bytes.Equal(old.entry.Source, e.Source)) {
				x.held[id] = held{e, old.number, old.size} // the older one need not be kept alive
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
			x.held[id] = held{e, x.ranking.add(id, terms), size}
		}
	}
}

// drop forgets an item.
func (x *index) drop(id string) {
	x.ranking.drop(x.held[id].number)
	x.size -= x.held[id].size
	delete(x.held, id)
	x.garbage++
}

// close gives the memory back. Whoever comes later is refused.
func (x *index) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	x.ranking, x.held = nil, nil
}
