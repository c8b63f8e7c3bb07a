package tui

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"goblin-actor/internal/status"
)

// Views of the catalog. Their rows are computed again only after the catalog or the subscriptions have changed.
var (
	toolsKind = &Kind{
		Name: "tools", Same: sameItems, Usage: true,
		Columns: usedColumns("TOOL", Column{Name: "DESCRIPTION", Flex: true}),
		Rows:    func(p *Picture) []Row { return namedRows(p, "tool", p.Items.Tools) },
	}
	promptsKind = &Kind{
		Name: "prompts", Same: sameItems, Usage: true,
		Columns: usedColumns("PROMPT", Column{Name: "DESCRIPTION", Flex: true}),
		Rows:    func(p *Picture) []Row { return namedRows(p, "prompt", p.Items.Prompts) },
	}
	resourcesKind = &Kind{
		Name: "resources", Same: sameItems,
		Columns: []Column{{Name: "URI", Sort: 'U', Flex: true, URI: true}, {Name: "NAME", Sort: 'N'}, {Name: "SERVER", Sort: 'S', Wide: true},
			{Name: "MIME", Sort: 'M'}, {Name: "SIZE", Sort: 'B', Right: true}, {Name: "SUBS", Sort: 'W', Right: true}},
		Rows: resourceRows,
	}
	templatesKind = &Kind{
		Name: "templates", Same: sameItems,
		Columns: []Column{{Name: "PATTERN", Sort: 'U', Flex: true, URI: true}, {Name: "SERVER", Sort: 'S', Wide: true}, {Name: "MIME", Sort: 'M', Wide: true}, {Name: "DESCRIPTION", Flex: true}},
		Rows: func(p *Picture) []Row {
			rows := make([]Row, len(p.Items.Templates))
			for i, t := range p.Items.Templates {
				rows[i] = Row{ID: t.Public, Server: t.Server, Detail: itemDetail("pattern", t, nil),
					Cells: []Cell{text(t.Public), text(t.Server), text(t.MIMEType), text(cmp.Or(t.Description, t.Title, t.Name))}}
			}
			return rows
		},
	}
)

// usedColumns returns the columns of a view of items, with those of usedCells before the last.
func usedColumns(name string, last Column) []Column {
	return []Column{{Name: name, Sort: 'N'}, {Name: "SERVER", Sort: 'S', Words: true}, {Name: "CALLS", Sort: 'C', Right: true, Spare: true}, {Name: "ERR", Sort: 'E', Right: true, Spare: true},
		{Name: "MEAN", Sort: 'M', Right: true, Wide: true, Spare: true}, {Name: "LAST", Sort: 'L', Right: true, Wide: true, Spare: true}, {Name: "MARKS", Wide: true, Spare: true}, last}
}

// itemKey identifies the counters of an item.
type itemKey struct{ kind, server, original string }

func usageOf(p *Picture) map[itemKey]*status.ItemUsage {
	all := make(map[itemKey]*status.ItemUsage, len(p.Usage))
	for i := range p.Usage {
		u := &p.Usage[i]
		all[itemKey{u.Kind, u.Server, u.Original}] = u
	}
	return all
}

// usedCells returns the cells CALLS, ERR, MEAN and LAST. They are empty if an item was never called.
func usedCells(p *Picture, u *status.ItemUsage) []Cell {
	if u == nil || u.Calls == 0 {
		return make([]Cell, 4)
	}
	failed := Cell{Text: percent(float64(u.Failed) / float64(u.Calls)), Number: float64(u.Failed) / float64(u.Calls)}
	if failed.Number > manyErrors {
		failed.Health = Warn
	}
	return []Cell{count(u.Calls), failed, took(time.Duration(u.Seconds / float64(u.Calls) * 1e9)), ago(u.Last, p.Now)}
}

func sameItems(a, b *Picture) bool {
	return a.Items == b.Items && a.used.Equal(b.used) && slices.Equal(a.Subscriptions, b.Subscriptions)
}

func namedRows(p *Picture, kind string, items []status.Item) []Row {
	rows := make([]Row, len(items))
	usage := usageOf(p)
	for i, t := range items {
		u := usage[itemKey{kind, t.Server, t.Original}]
		marks := ""
		if t.ReadOnly {
			marks = "read-only"
		}
		rows[i] = Row{ID: t.Public, Server: t.Server, Detail: itemDetail("name", t, nil),
			Cells: slices.Concat([]Cell{text(t.Public), text(t.Server)}, usedCells(p, u), []Cell{text(marks), text(cmp.Or(t.Description, t.Title))})}
		if u != nil && u.Calls > 0 {
			rows[i].Mark = sevGood
			if float64(u.Failed)/float64(u.Calls) > manyErrors {
				rows[i].Mark, rows[i].Health = sevLimited, Warn
			}
		}
	}
	return rows
}

func resourceRows(p *Picture) []Row {
	type resource struct{ server, uri string }
	subscribers := map[resource][]string{}
	for _, s := range p.Subscriptions {
		r := resource{s.Server, s.OwnURI}
		subscribers[r] = append(subscribers[r], cmp.Or(p.client(s.Session), s.Session))
	}
	rows := make([]Row, len(p.Items.Resources))
	for i, t := range p.Items.Resources {
		who := subscribers[resource{t.Server, t.Original}]
		watched := Cell{}
		if len(who) > 0 {
			watched = count(len(who))
			watched.Health = Good
		}
		rows[i] = Row{ID: t.Public, Server: t.Server, Detail: itemDetail("URI", t, who),
			Cells: []Cell{text(t.Public), text(cmp.Or(t.Title, t.Name)), text(t.Server), text(t.MIMEType), {Text: size(t.Size), Number: float64(t.Size)}, watched}}
	}
	return rows
}

// itemDetail returns the details of an item: its names, its description and its definition as clients receive it.
func itemDetail(id string, t status.Item, subscribers []string) func() []Field {
	return func() []Field {
		all := []Field{{id, t.Public}, {"server", t.Server}, {id + " at the server", t.Original}, {"title", t.Title}}
		if t.Name != t.Public {
			all = append(all, Field{"name", t.Name})
		}
		all = append(all, Field{"MIME type", t.MIMEType}, Field{"size", size(t.Size)})
		for _, who := range subscribers {
			all = append(all, Field{"subscribed by", who})
		}
		return fields(append(all, Field{"description", t.Description}, Field{"metadata", indented(t.Raw)})...)
	}
}

// indented indents JSON. It returns text that is not valid JSON, such as a truncated definition, unchanged.
func indented(raw string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(raw), "", "  ") != nil {
		return raw
	}
	return b.String()
}
