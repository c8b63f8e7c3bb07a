package config

import (
	"fmt"
	"reflect"
	"slices"

	"goblin-actor/protocol/namespace"
)

// projects reads projects. checkProjects checks their servers once all servers are known.
func (d *decoder) projects(to *[]Project, n *node, at place) {
	d.entries(n, at, func(name string, m member, here place) {
		p := Project{Name: name, Written: m.key}
		d.fields(reflect.ValueOf(&p).Elem(), "", m.value, here)
		for key, filter := range map[string]Filter{"tools": p.Tools, "prompts": p.Prompts, "resources": p.Resources} {
			if len(filter.Rename) > 0 {
				d.complain(here.key(key).key("rename").path, "a project cannot rename items", "rename them under mcpServers")
			}
		}
		*to = append(*to, p)
	})
}

// checkProjects reports unknown and repeated servers, empty servers or labels, and labels that no server has. It
// replaces the names of servers with their slugs.
func (d *decoder) checkProjects(c *Config) {
	var names []string
	for _, s := range c.Servers {
		if names = append(names, s.Name); s.Group != "" {
			names = append(names, s.Group)
		}
	}
	for _, p := range c.Projects {
		at := join("projects", p.Written)
		for _, key := range []struct {
			name  string
			empty bool
		}{{"servers", len(p.Servers) == 0}, {"labels", len(p.Labels) == 0}} {
			if path := join(at, key.name); key.empty && d.written(path) {
				d.complain(path, "empty, which would mean all servers", "list at least one, or remove the key to mean all")
			}
		}
		for i, name := range p.Servers {
			p.Servers[i] = namespace.Slug(name)
			switch path := d.itemPath(at+".servers", i); {
			case !slices.Contains(names, p.Servers[i]):
				hint := "define the server under mcpServers"
				if near := Nearest(name, names); near != "" {
					hint = fmt.Sprintf("did you mean %s?", near)
				}
				d.complain(path, fmt.Sprintf("no server %q", clip(name)), hint)
			case slices.Contains(p.Servers[:i], p.Servers[i]):
				o := d.report.origins[path]
				d.warn(o.line, o.column, path, fmt.Sprintf("%q is listed twice", clip(name)), "remove one")
			}
		}
		if len(p.Labels) > 0 && !slices.ContainsFunc(c.Servers, func(s Server) bool { return s.Carries(p.Labels) }) {
			o := d.report.origins[at+".labels"]
			d.warn(o.line, o.column, at+".labels", "no server has all of these labels", "set labels in the servers' entries under mcpServers")
		}
	}
}

// Carries reports whether the server has all of labels.
func (s *Server) Carries(labels map[string]string) bool {
	for key, want := range labels {
		if got, ok := s.Labels[key]; !ok || got != want {
			return false
		}
	}
	return true
}

// Project returns the names of all projects, and whether name is one of them.
func (c *Config) Project(name string) (names []string, found bool) {
	for _, p := range c.Projects {
		names = append(names, p.Name)
		found = found || p.Name == name
	}
	return names, found
}
