package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// overviewKind is the first view: one row per kind and project, then one per problem.
var overviewKind = &Kind{
	Name:    "overview",
	Columns: []Column{{Name: "WHAT"}, {Name: "COUNT", Right: true}, {Name: "HOW", Flex: true}},
	Rows:    overviewRows,
}

func overviewRows(p *Picture) []Row {
	row := func(kind string, n int, how string, health Health) Row {
		return Row{ID: kind, Goto: kind, Health: health, Cells: []Cell{text(kind), count(n), colored(how, health)}}
	}
	serversHow, serversHealth := serversSummary(p)
	callsHow, callsHealth := callsSummary(p)
	actorsHow, actorsHealth := actorsSummary(p)
	rows := []Row{
		row("servers", len(p.Servers), serversHow, serversHealth),
		row("backends", len(p.Backends), backendsSummary(p), Plain),
		row("sessions", len(p.Sessions), sessionsSummary(p), Plain),
		row("calls", len(p.Calls), callsHow, callsHealth),
		row("tools", p.Catalog.Tools, fmt.Sprintf("catalog version %d", p.Catalog.Version), Plain),
		row("prompts", p.Catalog.Prompts, "", Plain),
		row("resources", p.Catalog.Resources, plural(len(p.Subscriptions), "subscription"), Plain),
		row("templates", p.Catalog.Templates, "", Plain),
	}
	for _, project := range p.Projects {
		how := fmt.Sprintf("%s of %s", plural(project.Tools, "tool"), strings.Join(project.Servers, ", "))
		rows = append(rows, Row{ID: "project/" + project.Name, Goto: "sessions", Cells: []Cell{text("project " + project.Name), count(sessionsIn(p, project.Name)), text(how)},
			Detail: func() []Field {
				return fields(Field{"project", project.Name}, Field{"servers", strings.Join(project.Servers, ", ")}, Field{"tools", strconv.Itoa(project.Tools)},
					Field{"prompts", strconv.Itoa(project.Prompts)}, Field{"resources", strconv.Itoa(project.Resources)}, Field{"templates", strconv.Itoa(project.Templates)})
			}})
	}
	rows = append(rows,
		row("actors", len(p.Actors), actorsHow, actorsHealth))
	if f := p.ConfigFault; f != nil {
		how := "rejected for " + span(p.Now.Sub(f.Since)) + ": " + f.Reason
		rows = append(rows, Row{ID: "fault//configuration", Goto: "logs", Health: Bad, Cells: []Cell{colored("✗ configuration", Bad), {}, colored(how, Bad)},
			Detail: func() []Field {
				return fields(Field{"configuration", p.Config}, Field{"rejected since", instant(f.Since)}, Field{"reason", f.Reason})
			}})
	}
	for _, s := range p.Servers {
		if healthOf(s.State) != Bad && !s.Fault {
			if len(s.Warnings) > 0 {
				rows = append(rows, Row{ID: "warning/" + s.Name, Goto: "backends", Server: s.Name, Health: Warn, Detail: detailOf(p, serversKind, s.Name),
					Cells: []Cell{colored("! "+s.Name, Warn), {}, colored(s.State+": "+strings.Join(s.Warnings, "; "), Warn)}})
			}
			continue
		}
		how := s.State
		if s.NextAttempt.After(p.Now) {
			how += ", retry in " + span(s.NextAttempt.Sub(p.Now))
		}
		rows = append(rows, Row{ID: "fault/" + s.Name, Goto: "backends", Server: s.Name, Health: Bad, Detail: detailOf(p, serversKind, s.Name),
			Cells: []Cell{colored("✗ "+s.Name, Bad), {}, colored(how+": "+s.Reason, Bad)}})
	}
	return rows
}

// sessionsIn counts the sessions of a project.
func sessionsIn(p *Picture, project string) (n int) {
	for _, s := range p.Sessions {
		if s.Project == project {
			n++
		}
	}
	return n
}

// detailOf returns a function for the details of another kind's row.
func detailOf(p *Picture, kind *Kind, id string) func() []Field {
	return func() []Field {
		for _, r := range kind.Rows(p) {
			if r.ID == id && r.Detail != nil {
				return r.Detail()
			}
		}
		return nil
	}
}

func serversSummary(p *Picture) (string, Health) {
	health := Good
	states := map[string]int{}
	for _, s := range p.Servers {
		states[s.State]++
		if h := healthOf(s.State); h == Bad || h == Warn && health == Good {
			health = h
		}
	}
	return tally(states), health
}

func backendsSummary(p *Picture) string {
	states := map[string]int{}
	for _, b := range p.Backends {
		states[b.State]++
	}
	return tally(states)
}

func sessionsSummary(p *Picture) string {
	transports := map[string]int{}
	for _, s := range p.Sessions {
		transports[s.Transport]++
	}
	return tally(transports)
}

func callsSummary(p *Picture) (string, Health) {
	states := map[string]int{}
	var oldest time.Duration
	health := Plain
	for _, c := range p.Calls {
		states[c.State]++
		oldest = max(oldest, p.Now.Sub(c.Began))
		if callHealth(c, p.Now) == Warn {
			health = Warn
		}
	}
	if len(p.Calls) == 0 {
		return "", Plain
	}
	return tally(states) + "; the oldest for " + span(oldest), health
}

func actorsSummary(p *Picture) (string, Health) {
	var depth int
	var restarts, refused uint64
	for _, a := range p.Actors {
		depth += a.Depth
		restarts += a.Restarts
		refused += a.Refused
	}
	health := Plain
	if restarts > 0 {
		health = Warn
	}
	return fmt.Sprintf("%s queued, %d refused, %s", plural(depth, "message"), refused, plural(int(restarts), "restart")), health
}

// tally formats counts by name, for example "3 ready, 1 waiting".
func tally(counts map[string]int) string {
	var parts []string
	for what, n := range counts {
		parts = append(parts, fmt.Sprintf("%d %s", n, what))
	}
	slices.SortFunc(parts, func(a, b string) int {
		return strings.Compare(strings.TrimLeft(a, "0123456789"), strings.TrimLeft(b, "0123456789"))
	})
	return strings.Join(parts, ", ")
}
