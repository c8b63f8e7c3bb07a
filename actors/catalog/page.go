package catalog

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"sync"

	"goblin-actor/protocol"
)

// list holds the items of one kind in list order, divided into pages.
type list struct {
	kind       protocol.ItemKind
	entries    []*Entry
	sorted     bool      // by public name; else in the server's order
	size       int       // items per page
	configured int       // configured size; 0 = one page
	pages      [2][]page // for legacy and for modern clients
}

// page is a rendered result, created on first use.
type page struct {
	once   sync.Once
	result []byte
}

func newList(kind protocol.ItemKind, entries []*Entry, sorted bool, size int) *list {
	l := &list{kind: kind, entries: entries, sorted: sorted, size: size, configured: size}
	if size <= 0 {
		size = max(1, len(entries))
		l.size = size
	}
	pages := max(1, (len(entries)+size-1)/size)
	l.pages = [2][]page{make([]page, pages), make([]page, pages)}
	return l
}

// following returns l itself, with its rendered pages, if it has these entries and settings; else a new list.
func (l *list) following(kind protocol.ItemKind, entries []*Entry, sorted bool, size int) *list {
	if l != nil && l.sorted == sorted && l.configured == size && slices.Equal(l.entries, entries) {
		return l
	}
	return newList(kind, entries, sorted, size)
}

// page returns the result for a cursor. Pages that start at a multiple of the page size are rendered once for each era;
// only a cursor of another snapshot can point elsewhere.
func (l *list) page(era protocol.Era, cursor string) ([]byte, *protocol.Fault) {
	from, ok := l.start(cursor)
	if !ok {
		return nil, protocol.BadParams("Invalid cursor: start again without one")
	}
	pages := l.pages[0]
	if era == protocol.EraModern {
		pages = l.pages[1]
	}
	if n := from / l.size; from%l.size == 0 && n < len(pages) {
		p := &pages[n]
		p.once.Do(func() { p.result = l.renderPage(era, from, cursor) })
		return p.result, nil
	}
	return l.render(era, from), nil
}

// renderPage renders a page for the cache. The eras share a page if none of its items differs.
func (l *list) renderPage(era protocol.Era, from int, cursor string) []byte {
	if era == protocol.EraModern && !slices.ContainsFunc(l.entries[from:min(from+l.size, len(l.entries))], func(e *Entry) bool { return e.Other() != nil }) {
		shared, _ := l.page(protocol.EraLegacy, cursor)
		return shared
	}
	return l.render(era, from)
}

// render returns the result object with one page of items, beginning at index from.
func (l *list) render(era protocol.Era, from int) []byte {
	to := min(from+l.size, len(l.entries))
	from = min(from, to)
	next := ""
	if to < len(l.entries) {
		next = l.cursorAfter(to - 1)
	}
	spread(to-from, to-from, func(i, j int) {
		for _, e := range l.entries[from+i : from+j] {
			e.written()
		}
	})
	size := len(next) + len(l.kind.ResultKey()) + 32
	for _, e := range l.entries[from:to] {
		size += len(e.of(era)) + 1
	}
	out := make([]byte, 0, size)
	out = append(append(append(out, `{"`...), l.kind.ResultKey()...), `":[`...)
	for i, e := range l.entries[from:to] {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e.of(era)...)
	}
	out = append(out, ']')
	if next != "" {
		out = append(append(append(out, `,"nextCursor":"`...), next...), '"')
	}
	return append(out, '}')
}

// A cursor is the base64url encoding of: the format letter, the kind, the position (uvarint) and the key of the last
// item sent. A sorted list continues after the key, whatever was added or removed. A list in the server's order
// continues after the item, or at its position if the item was removed.
const cursorForm = 'g'

func (l *list) cursorAfter(i int) string {
	b := append(make([]byte, 0, 64), cursorForm, byte(l.kind))
	b = binary.AppendUvarint(b, uint64(i))
	return base64.RawURLEncoding.EncodeToString(append(b, l.entries[i].Public...))
}

// start returns the index of the first item after the cursor, or false if the cursor is invalid.
func (l *list) start(cursor string) (int, bool) {
	if cursor == "" {
		return 0, true
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) < 3 || b[0] != cursorForm || b[1] != byte(l.kind) {
		return 0, false
	}
	position, n := binary.Uvarint(b[2:])
	if n <= 0 || 2+n == len(b) {
		return 0, false
	}
	key := string(b[2+n:])
	at := int(min(position, uint64(len(l.entries))))
	if at < len(l.entries) && l.entries[at].Public == key { // the list has not changed
		return at + 1, true
	}
	if l.sorted {
		i, found := slices.BinarySearchFunc(l.entries, key, func(e *Entry, key string) int { return strings.Compare(e.Public, key) })
		if found {
			i++
		}
		return i, true
	}
	if i := slices.IndexFunc(l.entries, func(e *Entry) bool { return e.Public == key }); i >= 0 {
		return i + 1, true
	}
	return at, true
}
