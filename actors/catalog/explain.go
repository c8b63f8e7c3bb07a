package catalog

import (
	"goblin-actor/internal/config"
	"goblin-actor/internal/policy"
)

// Shows reports whether a project shows an item of a server. It is used to explain a policy without a snapshot.
func Shows(project config.Project, server config.Server, it *policy.Item) bool {
	of := &Server{Name: it.Server, Rules: server, Internal: it.Internal}
	shown := &item{parsed: &parsed{own: it.Own}, kind: it.Kind, public: it.Public, other: it.Other, server: of}
	s := scopeOf(&project, nil)
	return s.holds(of) && !s.hides(shown)
}

// ShowsURI reports whether a project shows an unlisted URI of a server. The list uris has all spellings of the URI. The
// parameter template is the text of the template that the URI matches, or "".
func ShowsURI(project config.Project, server config.Server, template string, uris []string) bool {
	s := scopeOf(&project, nil)
	return s.holds(&Server{Name: server.Name, Rules: server}) && s.judge.AdmitsAll(template, uris, false)
}

// Holds reports whether a project includes a server.
func Holds(project config.Project, server config.Server) bool {
	return scopeOf(&project, nil).holds(&Server{Name: server.Name, Rules: server})
}
