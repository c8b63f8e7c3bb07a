package catalog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// Limits of one change, which is about one kind of items of one server. Items beyond maxNamed are only counted.
const (
	maxNamed      = 20        // names of added, of removed and of changed items, each
	maxNamedBytes = 200       // bytes of a name or URI
	maxMembers    = 10        // members of one item
	maxCompared   = 512 << 10 // bytes of items compared in detail, in total; comparing them takes a few milliseconds
)

// Changes returns the differences of the servers' items between two snapshots, by public name, ordered by server and
// kind. Only the servers' own definitions are compared: a rewritten link or an added _meta member does not count.
// Parts shared by the snapshots are skipped. Comparing 10 000 tools takes 0.2 ms if one of 100 servers has changed.
func Changes(old, next *Snapshot) []status.CatalogChange {
	found, left := map[changeKey]*status.CatalogChange{}, maxCompared
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		if old.main.lists[kind] == next.main.lists[kind] {
			continue
		}
		c := comparison{kind, next.Version, found, &left}
		c.compare(byPublic(old.main, kind), byPublic(next.main, kind))
	}
	list := make([]status.CatalogChange, 0, len(found))
	for _, key := range slices.SortedFunc(maps.Keys(found), func(a, b changeKey) int {
		return cmp.Or(cmp.Compare(a.server, b.server), cmp.Compare(a.kind, b.kind))
	}) {
		list = append(list, *found[key])
	}
	return list
}

type changeKey struct {
	server string
	kind   protocol.ItemKind
}

// comparison collects the changes of one kind.
type comparison struct {
	kind    protocol.ItemKind
	version uint64
	found   map[changeKey]*status.CatalogChange
	left    *int // bytes that may still be compared in detail
}

// byPublic returns a view's entries sorted by public name. A pass-through view lists them in its server's order.
func byPublic(v *View, kind protocol.ItemKind) []*Entry {
	entries := v.lists[kind].entries
	if v.lists[kind].sorted {
		return entries
	}
	return slices.SortedFunc(slices.Values(entries), func(a, b *Entry) int { return cmp.Compare(a.Public, b.Public) })
}

// compare walks through both lists in parallel.
func (c *comparison) compare(old, next []*Entry) {
	for len(old) > 0 || len(next) > 0 {
		order := 0
		switch {
		case len(old) == 0:
			order = 1
		case len(next) == 0:
			order = -1
		case old[0] != next[0]:
			order = cmp.Compare(old[0].Public, next[0].Public)
		}
		switch {
		case order < 0:
			c.removed(old[0])
		case order > 0:
			c.added(next[0])
		case old[0] != next[0]:
			c.both(old[0], next[0])
		}
		if order <= 0 {
			old = old[1:]
		}
		if order >= 0 {
			next = next[1:]
		}
	}
}

// both compares two entries of the same name, which may belong to different servers.
func (c *comparison) both(old, next *Entry) {
	switch {
	case old.Server.Name != next.Server.Name:
		c.removed(old)
		c.added(next)
	case !bytes.Equal(old.Source, next.Source):
		of := c.of(next)
		if of.Counts.Changed++; len(of.Changed) < maxNamed {
			of.Changed = append(of.Changed, status.ItemChange{Name: spelled(next), Members: c.members(old.Source, next.Source)})
		}
	}
}

// members returns the members that differ, or nil if the two definitions are larger than what may still be compared.
func (c *comparison) members(old, next []byte) []string {
	size := len(old) + len(next)
	if size > *c.left {
		return nil
	}
	*c.left -= size
	return differing(old, next)
}

func (c *comparison) added(e *Entry) {
	if e.Server.Internal { // these items change only with the configuration, and no client waits for them
		return
	}
	of := c.of(e)
	if of.Counts.Added++; len(of.Added) < maxNamed {
		of.Added = append(of.Added, spelled(e))
	}
}

func (c *comparison) removed(e *Entry) {
	if e.Server.Internal {
		return
	}
	of := c.of(e)
	if of.Counts.Removed++; len(of.Removed) < maxNamed {
		of.Removed = append(of.Removed, spelled(e))
	}
}

func (c *comparison) of(e *Entry) *status.CatalogChange {
	key := changeKey{e.Server.Name, c.kind}
	of := c.found[key]
	if of == nil {
		of = &status.CatalogChange{Topic: Topic(c.kind), Version: c.version, Server: e.Server.Name}
		c.found[key] = of
	}
	return of
}

// Topic returns the topic of changes of a kind, such as "tool-changed".
func Topic(kind protocol.ItemKind) string { return strings.TrimSuffix(kind.String(), "s") + "-changed" }

func spelled(e *Entry) string { return clip(e.Public, maxNamedBytes) }

// differing returns the members that are missing in one of two objects or have different bytes: the first maxMembers,
// sorted.
func differing(old, next []byte) []string {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(old, &a) != nil || json.Unmarshal(next, &b) != nil {
		return nil // cannot happen: the catalog has parsed them
	}
	var members []string
	for key, value := range a {
		if other, ok := b[key]; !ok || !bytes.Equal(value, other) {
			members = append(members, clip(key, maxNamedBytes))
		}
	}
	for key := range b {
		if _, ok := a[key]; !ok {
			members = append(members, clip(key, maxNamedBytes))
		}
	}
	slices.Sort(members)
	return members[:min(len(members), maxMembers)]
}
