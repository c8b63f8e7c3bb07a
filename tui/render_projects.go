package tui

import (
	"strings"

	"goblin-actor/internal/status"
)

// projectsKind shows the named parts of the catalog.
var projectsKind = &Kind{
	Name: "projects", Enter: "sessions",
	Columns: []Column{{Name: "PROJECT", Sort: 'N'}, {Name: "SESSIONS", Sort: 'S', Right: true}, {Name: "TOOLS", Sort: 'T', Right: true}, {Name: "PROMPTS", Right: true, Wide: true},
		{Name: "RESOURCES", Right: true, Wide: true}, {Name: "TEMPLATES", Right: true, Wide: true}, {Name: "SERVERS", Flex: true}},
	Rows: func(p *Picture) []Row {
		rows := make([]Row, len(p.Projects))
		for i, project := range p.Projects {
			rows[i] = projectRow(p, project)
		}
		return rows
	},
}

func projectRow(p *Picture, project status.Project) Row {
	servers := strings.Join(project.Servers, ", ")
	return Row{ID: project.Name, Project: project.Name,
		Cells: []Cell{text(project.Name), count(sessionsIn(p, project.Name)), count(project.Tools), count(project.Prompts), count(project.Resources), count(project.Templates), text(servers)},
		Detail: func() []Field {
			return fields(Field{"project", project.Name}, Field{"servers", servers})
		}}
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
