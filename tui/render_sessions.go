package tui

import (
	"strconv"

	"goblin-actor/internal/status"
)

// sessionsKind shows the connected clients.
var sessionsKind = &Kind{
	Name: "sessions", Enter: "calls",
	Columns: []Column{{Name: "SESSION", Sort: 'N'}, {Name: "CLIENT", Sort: 'C', Flex: true}, {Name: "PROTOCOL", Sort: 'P'}, {Name: "VIA", Sort: 'V'},
		{Name: "RUN", Sort: 'R', Right: true}, {Name: "STREAMS", Right: true}, {Name: "AGE", Sort: 'A', Right: true}, {Name: "QUIET", Sort: 'Q', Right: true}},
	Rows: func(p *Picture) []Row {
		rows := make([]Row, len(p.Sessions))
		seen := map[string]int{}
		for i, s := range p.Sessions {
			id := s.ID
			if seen[s.ID]++; seen[s.ID] > 1 { // subscription streams have no id of their own
				id += "." + strconv.Itoa(seen[s.ID])
			}
			rows[i] = sessionRow(p, s, id)
		}
		return rows
	},
}

func sessionRow(p *Picture, s status.Session, id string) Row {
	health := Good
	if s.InFlight == 0 && s.Streams == 0 {
		health = Quiet
	}
	return Row{
		ID: id, Session: s.ID, Health: health,
		Cells: []Cell{text(id), text(clientName(s.Who, s.Client)), text(s.Protocol), text(via(s)), count(s.InFlight), count(s.Streams), ago(s.Since, p.Now), ago(s.LastSeen, p.Now)},
		Detail: func() []Field {
			return fields(
				Field{"session", s.ID + " (the first characters; the full id is secret)"}, Field{"client", s.Client}, Field{"principal", s.Who}, Field{"project", s.Project}, Field{"protocol", s.Protocol},
				Field{"transport", s.Transport}, Field{"since", instant(s.Since)}, Field{"last request", instant(s.LastSeen)},
				Field{"calls running", strconv.Itoa(s.InFlight)}, Field{"streams open", strconv.Itoa(s.Streams)},
			)
		},
	}
}

// via returns a client's transport, and its project if it has one.
func via(s status.Session) string {
	if s.Project == "" {
		return s.Transport
	}
	return s.Transport + " in " + s.Project
}
