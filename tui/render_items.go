package tui

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"goblin-actor/internal/status"
)

// Views of the catalog. Their rows are computed again only after the catalog, its counters or the subscriptions have
// changed; those of tools also after the list of disabled tools has.
var (
	toolsKind = &Kind{
		Name: "tools", Same: sameTools, Usage: true, Danger: status.Disable,
		Columns: usedColumns("TOOL", Column{Name: "DESCRIPTION", Flex: true}),
		Rows:    func(p *Picture) []Row { return withDisabled(p, p.called().tools) },
	}
	promptsKind = &Kind{
		Name: "prompts", Same: sameItems, Usage: true,
		Columns: usedColumns("PROMPT", Column{Name: "DESCRIPTION", Flex: true}),
		Rows:    func(p *Picture) []Row { return p.called().prompts },
	}
	resourcesKind = &Kind{
		Name: "resources", Same: sameItems,
		Columns: []Column{{Name: "URI", Sort: 'U', Flex: true, URI: true}, {Name: "NAME", Sort: 'N'}, {Name: "SERVER", Sort: 'S', Wide: true},
			{Name: "MIME", Sort: 'M'}, {Name: "SIZE", Sort: 'B', Right: true, Bytes: true}, {Name: "SUBS", Sort: 'W', Right: true}},
		Rows: resourceRows,
	}
	templatesKind = &Kind{
		Name: "templates", Same: sameItems,
		Columns: []Column{{Name: "PATTERN", Sort: 'U', Flex: true, URI: true}, {Name: "SERVER", Sort: 'S', Wide: true}, {Name: "MIME", Sort: 'M', Wide: true}, {Name: "DESCRIPTION", Flex: true}},
		Rows:    func(p *Picture) []Row { return p.listings().templates.rows },
	}
)

// usedColumns returns the columns of a view of items, with those of usedCells and MARKS before the last.
func usedColumns(name string, last Column) []Column {
	return []Column{{Name: name, Sort: 'N'}, {Name: "SERVER", Sort: 'S', Words: true}, {Name: "CALLS", Sort: 'C', Right: true, Spare: true}, {Name: "ERR", Sort: 'E', Right: true, Spare: true},
		{Name: "MEAN", Sort: 'M', Right: true, Wide: true, Spare: true}, {Name: "LAST", Sort: 'L', Right: true, Wide: true, Spare: true}, {Name: "MARKS", Wide: true, Spare: true}, last}
}

// itemKey identifies an item by its kind, its server and its name or URI at the server.
type itemKey struct{ kind, server, original string }

// usedCells returns the cells CALLS, ERR, MEAN and LAST.
func usedCells(p *Picture, u *status.ItemUsage) []Cell {
	failed := Cell{Text: percent(float64(u.Failed) / float64(u.Calls)), Number: float64(u.Failed) / float64(u.Calls)}
	if failed.Number > manyErrors {
		failed.Health = Warn
	}
	return []Cell{count(u.Calls), failed, took(time.Duration(u.Seconds / float64(u.Calls) * 1e9)), ago(u.Last, p.Now)}
}

func sameItems(a, b *Picture) bool {
	return a.Items == b.Items && a.used.Equal(b.used) && slices.Equal(a.Subscriptions, b.Subscriptions)
}

func sameTools(a, b *Picture) bool {
	return sameItems(a, b) && slices.EqualFunc(a.Servers, b.Servers, func(s, t status.Server) bool {
		return s.Name == t.Name && slices.Equal(s.DisabledTools, t.DisabledTools)
	})
}

// withDisabled returns the rows of tools, and a row for each entry of tools.disabled, a name or a pattern. The catalog does
// not have the disabled tools, so only these entries are known.
func withDisabled(p *Picture, tools []Row) []Row {
	tools = slices.Clip(tools)
	for i := range p.Servers {
		s := &p.Servers[i]
		for _, name := range s.DisabledTools {
			r := Row{ID: "disabled " + s.Name + "/" + name, Server: s.Name, Off: name, Copy: name, Mark: sevOff, Health: sevOff.health(),
				Detail: func() []Field {
					return fields(Field{"name at the server", name}, Field{"server", s.Name}, Field{"state", "disabled in the configuration (tools.disabled)"})
				},
				Cells: []Cell{text(name), text(s.Name), {}, {}, {}, {}, text("disabled"), text("clients do not see it; x enables it")}}
			r.prepare()
			tools = append(tools, r)
		}
	}
	return tools
}

// namedRows returns the rows of tools or prompts with the counters of those that were called.
func namedRows(p *Picture, kind string, l *listing) []Row {
	rows := changed{listing: l}
	for i := range p.Usage {
		u := &p.Usage[i]
		if u.Kind != kind || u.Calls == 0 {
			continue
		}
		if r := rows.row(itemKey{kind, u.Server, u.Original}); r != nil {
			copy(r.Cells[usedColumn:], usedCells(p, u))
			r.Mark = sevGood
			if float64(u.Failed)/float64(u.Calls) > manyErrors {
				r.Mark, r.Health = sevLimited, Warn
			}
			r.prepare()
		}
	}
	return rows.all()
}

// usedColumn is the index of the first column of usedCells.
const usedColumn = 2

// namedRow returns the row of a tool or a prompt that was never called.
func namedRow(t status.Item) Row {
	marks := ""
	if t.ReadOnly {
		marks = "read-only"
	}
	return Row{ID: t.Public, Server: t.Server, Detail: itemDetail("name", t, nil),
		Cells: []Cell{text(t.Public), text(t.Server), {}, {}, {}, {}, text(marks), text(cmp.Or(t.Description, t.Title))}}
}

func templateRow(t status.Item) Row {
	return Row{ID: t.Public, Server: t.Server, Detail: itemDetail("pattern", t, nil),
		Cells: []Cell{text(t.Public), text(t.Server), text(t.MIMEType), text(cmp.Or(t.Description, t.Title, t.Name))}}
}

// resourceRows returns the rows of resources with their subscribers.
func resourceRows(p *Picture) []Row {
	subscribers := map[itemKey][]string{}
	client := p.clientNames()
	for _, s := range p.Subscriptions {
		key := itemKey{"resource", s.Server, s.OwnURI}
		subscribers[key] = append(subscribers[key], cmp.Or(client[s.Session], s.Session))
	}
	l := &p.listings().resources
	rows := changed{listing: l}
	for key, who := range subscribers {
		if r := rows.row(key); r != nil {
			watched := count(len(who))
			watched.Health = Good
			r.Cells[len(r.Cells)-1] = watched
			r.Detail = itemDetail("URI", p.Items.Resources[l.at[key]], who)
		}
	}
	return rows.all()
}

// resourceRow returns the row of a resource without subscribers.
func resourceRow(t status.Item) Row {
	return Row{ID: t.Public, Server: t.Server, Detail: itemDetail("URI", t, nil),
		Cells: []Cell{text(t.Public), text(cmp.Or(t.Title, t.Name)), text(t.Server), text(t.MIMEType), {Text: size(t.Size), Number: float64(t.Size)}, {}}}
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
