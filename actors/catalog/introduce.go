package catalog

import (
	"cmp"

	"goblin-actor/internal/config"
	"goblin-actor/protocol/rawjson"
)

// defaultName is what the gateway is called where the configuration does not say.
const defaultName = "goblin-actor"

// serverInfo returns the Implementation object that clients are given as serverInfo. MCP 2025-11-25, basic/lifecycle.
func serverInfo(info config.ServerInfo, version string) []byte {
	b := append([]byte(`{"name":`), rawjson.Quote(cmp.Or(info.Name, defaultName))...)
	if info.Title != "" {
		b = append(append(b, `,"title":`...), rawjson.Quote(info.Title)...)
	}
	return append(append(append(b, `,"version":`...), rawjson.Quote(version)...), '}')
}

// introduce writes how the gateway is called, in all and in each project.
func (s *Snapshot) introduce(projects []config.Project) {
	s.infos = map[string][]byte{"": serverInfo(s.naming.ServerInfo, s.naming.Version)}
	for i := range projects {
		s.infos[projects[i].Name] = serverInfo(projects[i].ServerInfo, s.naming.Version)
	}
}

// project is the one that the view is within; nil = none, or several.
func (v *View) project() *config.Project {
	if v.scope == nil || v.scope.rules.Name == "" {
		return nil
	}
	return &v.scope.rules
}

// ServerInfo is what the gateway says of itself to clients of the view, a JSON object. The bytes are shared and must not be changed.
func (v *View) ServerInfo() []byte {
	if p := v.project(); p != nil {
		if info := v.snapshot.infos[p.Name]; info != nil {
			return info
		}
	}
	return v.snapshot.infos[""]
}

// greeting is what the configuration tells clients of the view ahead of everything else; "" = nothing.
func (v *View) greeting() string {
	if p := v.project(); p != nil {
		return p.Instructions
	}
	return v.snapshot.naming.Instructions
}
