package tui

import "cmp"

// subscriptionsKind shows which client has subscribed to which resource.
var subscriptionsKind = &Kind{
	Name:    "subscriptions",
	Columns: []Column{{Name: "URI", Sort: 'U', Flex: true, URI: true}, {Name: "SERVER", Sort: 'S'}, {Name: "CLIENT", Sort: 'C'}, {Name: "SESSION"}},
	Rows: func(p *Picture) []Row {
		rows := make([]Row, len(p.Subscriptions))
		for i, s := range p.Subscriptions {
			client := clientName(s.Who, cmp.Or(p.client(s.Session), s.Session))
			rows[i] = Row{ID: s.Session + " " + s.URI, Server: s.Server, Session: s.Session,
				Cells: []Cell{text(s.URI), text(s.Server), text(client), text(s.Session)},
				Detail: func() []Field {
					return fields(Field{"URI", s.URI}, Field{"server", s.Server}, Field{"URI at the server", s.OwnURI}, Field{"client", client}, Field{"session", s.Session})
				}}
		}
		return rows
	},
}
