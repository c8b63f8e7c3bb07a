package tui

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"goblin-actor/internal/status"
)

// Views of the catalog. Their rows are computed again only after the catalog or the subscriptions have changed.
var (
	toolsKind = &Kind{
		Name: "tools", Same: sameItems,
		Columns: []Column{{Name: "TOOL", Sort: 'N'}, {Name: "SERVER", Sort: 'S'}, {Name: "DESCRIPTION", Flex: true}},
		Rows:    func(p *Picture) []Row { return namedRows(p.Items.Tools) },
	}
	promptsKind = &Kind{
		Name: "prompts", Same: sameItems,
		Columns: []Column{{Name: "PROMPT", Sort: 'N'}, {Name: "SERVER", Sort: 'S'}, {Name: "DESCRIPTION", Flex: true}},
		Rows:    func(p *Picture) []Row { return namedRows(p.Items.Prompts) },
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

func sameItems(a, b *Picture) bool {
	return a.Items == b.Items && slices.Equal(a.Subscriptions, b.Subscriptions)
}

func namedRows(items []status.Item) []Row {
	rows := make([]Row, len(items))
	for i, t := range items {
		rows[i] = Row{ID: t.Public, Server: t.Server, Detail: itemDetail("name", t, nil),
			Cells: []Cell{text(t.Public), text(t.Server), text(cmp.Or(t.Description, t.Title))}}
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
