package catalog

import (
	"cmp"

	"goblin-actor/internal/config"
	"goblin-actor/protocol/rawjson"
)

// defaultName is the gateway's name if the configuration sets none.
const defaultName = "goblin-actor"

// serverInfo returns the Implementation object sent to clients as serverInfo. MCP 2025-11-25, basic/lifecycle.
func serverInfo(info config.ServerInfo, version string) []byte {
	b := append([]byte(`{"name":`), rawjson.Quote(cmp.Or(info.Name, defaultName))...)
	if info.Title != "" {
		b = append(append(b, `,"title":`...), rawjson.Quote(info.Title)...)
	}
	return append(append(append(b, `,"version":`...), rawjson.Quote(version)...), '}')
}

// buildServerInfos builds the serverInfo of the whole catalog and of each project.
func (s *Snapshot) buildServerInfos(projects []config.Project) {
	s.infos = map[string][]byte{"": serverInfo(s.naming.ServerInfo, s.naming.Version)}
	for i := range projects {
		s.infos[projects[i].Name] = serverInfo(projects[i].ServerInfo, s.naming.Version)
	}
}

// project returns the project that the view is limited to, or nil if it is limited to none or to several.
func (v *View) project() *config.Project {
	if v.scope == nil || v.scope.rules.Name == "" {
		return nil
	}
	return &v.scope.rules
}

// ServerInfo returns the serverInfo for clients of the view, a JSON object. The caller must not modify it.
func (v *View) ServerInfo() []byte {
	if p := v.project(); p != nil {
		if info := v.snapshot.infos[p.Name]; info != nil {
			return info
		}
	}
	return v.snapshot.infos[""]
}

// greeting returns the configured instructions for clients of the view.
func (v *View) greeting() string {
	if p := v.project(); p != nil {
		return p.Instructions
	}
	return v.snapshot.naming.Instructions
}
