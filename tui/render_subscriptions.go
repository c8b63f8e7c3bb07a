package tui

import (
	"cmp"
	"slices"
	"strings"

	"goblin-actor/internal/status"
)

// maxBranches is the maximum number of rows in a group that is unfolded at first.
const maxBranches = 8

// subscriptionsKind shows, for each resource, the subscription at its server and the clients that receive its updates.
var subscriptionsKind = &Kind{
	Name: "subscriptions",
	Columns: []Column{{Name: "RESOURCE", Sort: 'U', Flex: true, URI: true}, {Name: "SERVER", Sort: 'S', Words: true}, {Name: "CLIENTS", Sort: 'W', Right: true},
		{Name: "CLIENT", Sort: 'C', Flex: true}, {Name: "SESSION", Wide: true}},
	Rows: subscriptionRows,
}

func subscriptionRows(p *Picture) []Row {
	all := slices.SortedStableFunc(slices.Values(p.Subscriptions), func(a, b status.Subscription) int {
		return cmp.Or(strings.Compare(a.Server, b.Server), strings.Compare(a.OwnURI, b.OwnURI))
	})
	var rows []Row
	names := p.clientNames()
	for len(all) > 0 {
		n := slices.IndexFunc(all, func(s status.Subscription) bool { return s.Server != all[0].Server || s.OwnURI != all[0].OwnURI })
		if n < 0 {
			n = len(all)
		}
		rows = append(rows, resourceGroup(names, all[:n])...)
		all = all[n:]
	}
	return rows
}

// resourceGroup returns the row of a resource and those of its clients. names has the names of clients by session.
func resourceGroup(names map[string]string, all []status.Subscription) []Row {
	first := all[0]
	clients := make([]string, len(all))
	for i, s := range all {
		clients[i] = clientName(s.Who, cmp.Or(names[s.Session], s.Session))
	}
	head := Row{ID: first.Server + " " + first.OwnURI, Server: first.Server, Mark: sevGood, Health: Good, Copy: first.URI,
		Branch: Branch{Group: true, Closed: len(all) > maxBranches, Text: plain(first.OwnURI), Sum: true},
		Cells:  []Cell{text(first.URI), text(first.Server), count(len(all)), text(""), text("")},
		Detail: func() []Field {
			return fields(Field{"URI", first.URI}, Field{"server", first.Server}, Field{"URI at the server", first.OwnURI}, Field{"clients", strings.Join(clients, "\n")})
		}}
	rows := []Row{head}
	for i, s := range all {
		lines := "├─ "
		if i == len(all)-1 {
			lines = "└─ "
		}
		rows = append(rows, Row{ID: s.Session + " " + s.URI, Server: s.Server, Session: s.Session, Copy: s.URI,
			Branch: Branch{Depth: 1, Text: lines + plain(clients[i])},
			Cells:  []Cell{text(s.URI), text(s.Server), {}, text(clients[i]), text(s.Session)},
			Detail: func() []Field {
				return fields(Field{"URI", s.URI}, Field{"server", s.Server}, Field{"URI at the server", s.OwnURI}, Field{"client", clients[i]}, Field{"session", s.Session})
			}})
	}
	return rows
}
