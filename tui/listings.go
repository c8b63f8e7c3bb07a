package tui

import (
	"slices"
	"time"

	"goblin-actor/internal/status"
)

// listing holds the rows of one kind of items, without the values that can change while the catalog stays the same. There
// may be many thousands of rows, so they are created once for each version of the catalog. A listing is immutable.
type listing struct {
	rows []Row
	at   map[itemKey]int // index in rows
}

// listings holds the rows of all items of a catalog. It is immutable.
type listings struct {
	of                                   *status.Items
	tools, prompts, resources, templates listing
}

// listed makes the rows of a catalog.
func listed(items *status.Items) *listings {
	return &listings{of: items,
		tools: listingOf("tool", items.Tools, namedRow), prompts: listingOf("prompt", items.Prompts, namedRow),
		resources: listingOf("resource", items.Resources, resourceRow), templates: listingOf("template", items.Templates, templateRow)}
}

func listingOf(kind string, items []status.Item, row func(status.Item) Row) listing {
	l := listing{make([]Row, len(items)), make(map[itemKey]int, len(items))}
	for i, item := range items {
		l.rows[i] = row(item)
		l.rows[i].prepare()
		l.at[itemKey{kind, item.Server, item.Original}] = i
	}
	return l
}

// listings returns the rows of the Picture's catalog.
func (p *Picture) listings() *listings {
	if p.listed == nil || p.listed.of != p.Items {
		return listed(p.Items)
	}
	return p.listed
}

// calledRows holds the rows of tools and prompts with the counters of those that were called. It is immutable.
type calledRows struct {
	of             *listings
	at             time.Time // Picture.used
	tools, prompts []Row
}

// called returns the rows of the Picture's tools and prompts.
func (p *Picture) called() *calledRows {
	l := p.listings()
	if c := p.calls; c != nil && c.of == l && c.at.Equal(p.used) {
		return c
	}
	return &calledRows{l, p.used, namedRows(p, "tool", &l.tools), namedRows(p, "prompt", &l.prompts)}
}

// changed holds the rows of a listing with changes to some of them. The listing itself does not change.
type changed struct {
	*listing
	rows []Row
}

// row returns a row that the caller may change, or nil if there is no such item.
func (c *changed) row(key itemKey) *Row {
	i, ok := c.at[key]
	if !ok {
		return nil
	}
	if c.rows == nil {
		c.rows = slices.Clone(c.listing.rows)
	}
	r := &c.rows[i]
	r.Cells, r.folded = slices.Clone(r.Cells), ""
	return r
}

// all returns the rows.
func (c *changed) all() []Row {
	if c.rows == nil {
		return c.listing.rows
	}
	return c.rows
}
