package tui

import (
	"fmt"
	"slices"
	"strings"

	"goblin-actor/internal/status"
)

// serversKind shows the entries of mcpServers.
var serversKind = &Kind{
	Name: "servers", Enter: "backends", Danger: status.Restart,
	Columns: []Column{{Name: "SERVER", Sort: 'N'}, {Name: "STATE", Sort: 'S'}, {Name: "READY", Right: true}, {Name: "RUN", Sort: 'R', Right: true},
		{Name: "QUEUE", Sort: 'Q', Right: true}, {Name: "TOOLS", Sort: 'T', Right: true}, {Name: "PROM", Right: true, Wide: true},
		{Name: "RES", Right: true, Wide: true}, {Name: "TEMPL", Right: true, Wide: true}, {Name: "SUBS", Sort: 'W', Right: true, Wide: true}, {Name: "NEXT", Right: true}, {Name: "REASON", Flex: true}},
	Rows: func(p *Picture) []Row {
		rows := make([]Row, len(p.Servers))
		for i, s := range p.Servers {
			rows[i] = serverRow(p, s)
		}
		return rows
	},
}

// reasonOf returns the server's reason as a list. The list is empty if there is no reason.
func reasonOf(s status.Server) []string {
	if s.Reason == "" {
		return nil
	}
	return []string{s.Reason}
}

func serverRow(p *Picture, s status.Server) Row {
	health := healthOf(s.State)
	next := Cell{}
	if s.NextAttempt.After(p.Now) {
		next = until(s.NextAttempt, p.Now)
	}
	reason := colored(s.Reason, health)
	if len(s.Warnings) > 0 && health != Bad {
		health = Warn
		reason = colored(strings.Join(append(slices.Clone(s.Warnings), reasonOf(s)...), "; "), Warn)
	}
	return Row{
		ID: s.Name, Server: s.Name, Health: health,
		Cells: []Cell{text(s.Name), colored(s.State, health), {Text: fmt.Sprintf("%d/%d", s.ReadyCount, s.Replicas), Number: float64(s.ReadyCount), Trend: true},
			count(s.InFlight), faults(s.Queued), count(s.Tools), count(s.Prompts), count(s.Resources), count(s.Templates), count(s.Subscribers), next, reason},
		Detail: func() []Field {
			return fields(
				Field{"server", s.Name}, Field{"state", s.State}, Field{"reason", s.Reason}, Field{"warnings", strings.Join(s.Warnings, "; ")}, Field{"hint", s.Hint},
				Field{"stderr", stderrOf(p, s.Name)}, Field{"next attempt", instant(s.NextAttempt)}, Field{"description", s.Description},
				Field{"replicas", fmt.Sprintf("%d of %d ready", s.ReadyCount, s.Replicas)},
				Field{"calls", fmt.Sprintf("%d running, %d queued", s.InFlight, s.Queued)},
				Field{"offers", fmt.Sprintf("%s, %s, %s, %s", plural(s.Tools, "tool"), plural(s.Prompts, "prompt"), plural(s.Resources, "resource"), plural(s.Templates, "template"))},
				Field{"subscriptions", subscriptionsOf(s)},
			)
		},
	}
}

// subscriptionsOf returns the number of clients' subscriptions and the number at the server. The numbers differ because
// clients share subscriptions at the server.
func subscriptionsOf(s status.Server) string {
	if s.Subscribers == 0 && s.Subscribed == 0 {
		return ""
	}
	return fmt.Sprintf("%d by clients, %d at the server", s.Subscribers, s.Subscribed)
}

// stderrOf returns the last lines of a server's stderr, without consecutive duplicates.
func stderrOf(p *Picture, server string) string {
	var all []string
	for _, b := range p.Backends {
		if b.Server == server {
			all = append(all, b.Stderr...)
		}
	}
	return strings.Join(slices.Compact(all), "\n")
}
