package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"goblin-actor/internal/status"
)

// serversKind shows the servers, those that need attention first. A group is one server.
var serversKind = &Kind{
	Name: "servers", Title: "worst first", Enter: "backends", Danger: status.Restart, Worst: true,
	Columns: []Column{{Name: "SERVER", Sort: 'N'}, {Name: "STATE", Sort: 'S', Words: true}, {Name: "READY", Right: true, Wide: true}, {Name: "CALLS/S", Sort: 'C', Right: true}, {Name: "ERR", Sort: 'E', Right: true}, {Name: "P95", Sort: 'P', Right: true, Wide: true}, {Name: "RUN", Sort: 'R', Right: true},
		{Name: "QUEUE", Sort: 'Q', Right: true}, {Name: "TOOLS", Sort: 'T', Right: true}, {Name: "PROM", Right: true, Wide: true},
		{Name: "RES", Right: true, Wide: true}, {Name: "TEMPL", Right: true, Wide: true}, {Name: "SUBS", Sort: 'W', Right: true, Wide: true}, {Name: "WHY", Flex: true}},
	Rows: func(p *Picture) []Row {
		rows := make([]Row, len(p.Servers))
		for i := range p.Servers {
			rows[i] = serverRow(p, &p.Servers[i])
		}
		return rows
	},
}

func serverRow(p *Picture, s *status.Server) Row {
	r := serverBase(p, s)
	r.Cells = slices.Concat([]Cell{text(s.Name), colored(stateText(p, s), r.Health), {Text: fmt.Sprintf("%d/%d", s.ReadyCount, s.Replicas), Number: float64(s.ReadyCount), Trend: true}},
		rateCells(p, s.Name),
		[]Cell{count(s.InFlight), faults(s.Queued), count(s.Tools), count(s.Prompts), count(s.Resources), count(s.Templates), count(s.Subscribers), whyCell(p, s, r.Health)})
	return r
}

// serverBase returns the row of a server without its cells.
func serverBase(p *Picture, s *status.Server) Row {
	mark := serverSeverity(p, s)
	return Row{ID: s.Name, Server: s.Name, Mark: mark, Health: mark.health(), Detail: func() []Field { return serverFields(p, s) }}
}

// serverSeverity returns how urgently a server needs attention.
func serverSeverity(p *Picture, s *status.Server) Severity {
	mark := severityOf(s.State)
	switch {
	case mark == sevBusy && s.Fault:
		return sevFailed
	case mark == sevGood && (len(s.Warnings) > 0 || s.Reason != "" || !s.CachedSince.IsZero() || len(limitations(p, s)) > 0):
		return sevLimited
	}
	return mark
}

// stateText returns a server's state and, if it is temporary, the time until the next attempt or since it was entered.
func stateText(p *Picture, s *status.Server) string {
	if s.NextAttempt.After(p.Now) {
		return s.State + " " + brief(s.NextAttempt.Sub(p.Now))
	}
	if severityOf(s.State) == sevBusy {
		for i := range p.Backends {
			if b := &p.Backends[i]; b.Server == s.Name && b.State == s.State {
				return s.State + " " + brief(p.Now.Sub(b.Since))
			}
		}
	}
	return s.State
}

// whyCell returns the last cell of a server's row: why it is in its state, and how long its messages will be recorded.
func whyCell(p *Picture, s *status.Server, h Health) Cell {
	return colored(joined("; ", whyOf(p, s), recording(s.Recorded, p.Now)), h)
}

// whyOf returns what a server's row says about its state.
func whyOf(p *Picture, s *status.Server) string {
	all := slices.Clone(s.Warnings)
	if s.State == "ready" {
		all = append(all, limitations(p, s)...)
	}
	if s.Reason != "" {
		all = append(all, causeFirst(s.Reason, s.LastErrorTries))
	} else if s.LastError != "" && s.State != "ready" && s.State != "disabled" {
		all = append(all, causeFirst(s.LastError, s.LastErrorTries))
	}
	if s.State == "needs-login" && len(all) == 0 {
		all = append(all, s.Hint)
	}
	return strings.Join(all, "; ")
}

// causeFirst moves what a server wrote about its failure to the start of the reason: "Error: no token (exit 1, try 9)".
func causeFirst(reason string, tries int) string {
	how, cause, ok := strings.Cut(reason, "; stderr: ")
	if !ok {
		return reason
	}
	if code, ok := strings.CutPrefix(how, "process exited with code "); ok {
		how = "exit " + code
	}
	if tries > 1 {
		how += fmt.Sprintf(", try %d", tries)
	}
	return cause + " (" + how + ")"
}

func serverFields(p *Picture, s *status.Server) []Field {
	lastError := ""
	if s.LastError != "" {
		lastError = fmt.Sprintf("%s (%s, %s)", s.LastError, instant(s.LastErrorAt), plural(s.LastErrorTries, "failure"))
	}
	return fields(
		Field{"server", s.Name}, Field{"state", s.State}, Field{"reason", s.Reason}, Field{"warnings", strings.Join(s.Warnings, "; ")}, Field{"hint", s.Hint},
		Field{"last error", lastError}, Field{"stderr", stderrOf(p, s.Name)}, Field{"next attempt", instant(s.NextAttempt)}, Field{"description", s.Description},
		Field{"replicas", fmt.Sprintf("%d of %d ready", s.ReadyCount, s.Replicas)},
		Field{"calls", fmt.Sprintf("%d running, %d queued", s.InFlight, s.Queued)}, Field{"queued calls wait for", s.QueueWaits},
		Field{"offers", fmt.Sprintf("%s, %s, %s, %s", plural(s.Tools, "tool"), plural(s.Prompts, "prompt"), plural(s.Resources, "resource"), plural(s.Templates, "template"))},
		Field{"items are from", instant(s.CachedSince)}, Field{"subscriptions", subscriptionsOf(s)},
	)
}

// subscriptionsOf returns the number of clients' subscriptions and the number at the server. The numbers differ because
// clients share subscriptions at the server.
func subscriptionsOf(s *status.Server) string {
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

// serverHead returns the lines above the tabs of a server's page: its state, its rates, and its last
// error or else the reason for its state.
func serverHead(p *Picture, of scope) []line {
	at := slices.IndexFunc(p.Servers, func(s status.Server) bool { return s.Name == of.server })
	if at < 0 {
		return nil
	}
	s := &p.Servers[at]
	mark := serverSeverity(p, s)
	var first line
	first.add(mark.health(), glyphs[mark]+" ")
	first.title(s.Name)
	first.add(mark.health(), " "+stateText(p, s))
	first.add(Plain, fmt.Sprintf("  %s, %s %s %s, run %d, queue %d", plural(connections(p, s.Name), "connection"),
		plural(s.Tools, "tool"), plural(s.Prompts, "prompt"), plural(s.Resources, "resource"), s.InFlight, s.Queued))
	if note := recording(s.Recorded, p.Now); note != "" {
		first.add(Warn, "  "+note)
	}
	out := []line{first, ratesLine(p, s.Name)}
	switch why := whyOf(p, s); {
	case s.LastError != "":
		var l line
		l.hint("last error ")
		if !s.LastErrorAt.IsZero() {
			l.add(Plain, s.LastErrorAt.Local().Format(time.TimeOnly)+", "+brief(p.Now.Sub(s.LastErrorAt))+" ago, "+plural(s.LastErrorTries, "failure")+": ")
		}
		l.add(mark.health(), causeFirst(s.LastError, 0))
		out = append(out, l)
	case why != "":
		var l line
		l.add(mark.health(), why)
		out = append(out, l)
	}
	return out
}

func connections(p *Picture, server string) (n int) {
	for i := range p.Backends {
		if p.Backends[i].Server == server {
			n++
		}
	}
	return n
}
