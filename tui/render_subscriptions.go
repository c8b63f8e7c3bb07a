package tui

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"goblin-actor/internal/status"
)

// maxBranches is the maximum number of rows in a group that is unfolded at first.
const maxBranches = 8

// subscriptionsKind shows, for each resource, the subscription at its server and the clients that receive its updates.
var subscriptionsKind = &Kind{
	Name: "subscriptions",
	Columns: []Column{{Name: "RESOURCE", Sort: 'U', Flex: true, URI: true}, {Name: "SERVER", Sort: 'S', Words: true}, {Name: "CLIENTS", Sort: 'W', Right: true},
		{Name: "TOLD/MIN", Sort: 'T', Right: true}, {Name: "MERGED", Sort: 'M', Right: true}, {Name: "LAST", Sort: 'A', Right: true, Wide: true}, {Name: "CLIENT", Sort: 'C', Flex: true}, {Name: "SESSION", Wide: true}},
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
		rows = append(rows, resourceGroup(p, names, all[:n])...)
		all = all[n:]
	}
	return rows
}

// resourceGroup returns the row of a resource and those of its clients. names has the names of clients by session.
func resourceGroup(p *Picture, names map[string]string, all []status.Subscription) []Row {
	first := all[0]
	clients := make([]string, len(all))
	var sum told
	for i, s := range all {
		clients[i] = clientName(s.Who, cmp.Or(names[s.Session], s.Session))
		sum.add(&s, p.Now)
	}
	head := Row{ID: first.Server + " " + first.OwnURI, Server: first.Server, Mark: sevGood, Health: Good, Copy: first.URI,
		Branch: Branch{Group: true, Closed: len(all) > maxBranches, Text: plain(first.OwnURI), Sum: true},
		Cells:  slices.Concat([]Cell{text(first.URI), text(first.Server), count(len(all))}, sum.cells(p.Now), []Cell{text(""), text("")}),
		Detail: func() []Field {
			return append(fields(Field{"URI", first.URI}, Field{"server", first.Server}, Field{"URI at the server", first.OwnURI}, Field{"clients", strings.Join(clients, "\n")}), sum.fields()...)
		}}
	rows := []Row{head}
	for i, s := range all {
		lines := "├─ "
		if i == len(all)-1 {
			lines = "└─ "
		}
		var own told
		own.add(&s, p.Now)
		rows = append(rows, Row{ID: s.Session + " " + s.URI, Server: s.Server, Session: s.Session, Copy: s.URI,
			Branch: Branch{Depth: 1, Text: lines + plain(clients[i])},
			Cells:  slices.Concat([]Cell{text(s.URI), text(s.Server), {}}, own.cells(p.Now), []Cell{text(clients[i]), text(s.Session)}),
			Detail: func() []Field {
				return append(fields(Field{"URI", s.URI}, Field{"server", s.Server}, Field{"URI at the server", s.OwnURI}, Field{"client", clients[i]}, Field{"session", s.Session}), own.fields()...)
			}})
	}
	return rows
}

// told sums up how often the clients of subscriptions were notified of changes, and when last.
type told struct {
	all, lastMinute, merged uint64
	last                    time.Time
}

// add adds a subscription at the time now.
func (t *told) add(s *status.Subscription, now time.Time) {
	t.all += s.Told
	t.merged += s.Merged
	if now.Sub(s.Last) < time.Minute {
		t.lastMinute += s.LastMinute
	}
	if s.Last.After(t.last) {
		t.last = s.Last
	}
}

// cells returns the cells TOLD/MIN, MERGED and LAST.
func (t *told) cells(now time.Time) []Cell {
	return []Cell{count(t.lastMinute), count(t.merged), ago(t.last, now)}
}

func (t *told) fields() []Field {
	return fields(Field{"notifications", strconv.FormatUint(t.all, 10) + ", " + strconv.FormatUint(t.merged, 10) + " more were merged with a later one"}, Field{"last notification", instant(t.last)})
}
