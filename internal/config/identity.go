package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"goblin-actor/protocol/namespace"
)

// tls reads the section tls: a mapping, or the word off.
func (d *decoder) tls(to *TLS, n *node, at place) {
	if n.scalar() && (n.text == "off" || n.text == "false") {
		to.Off = true
		return
	}
	d.fields(reflect.ValueOf(to).Elem(), "", n, at)
}

// roles reads policy.roles.
func (d *decoder) roles(to *[]Role, n *node, at place) {
	d.entries(n, at, func(name string, m member, here place) {
		r := withDefaults[Role]()
		r.Name, r.Written = name, m.key
		d.report.origins[here.path] = origin{file: d.file, line: m.line, column: m.column}
		if m.value.empty() {
			d.rejectEmpty(m.value, here)
			return
		}
		d.fields(reflect.ValueOf(&r).Elem(), "", m.value, here)
		for key, filter := range map[string]Filter{"tools": r.Tools, "prompts": r.Prompts, "resources": r.Resources} {
			if len(filter.Rename) > 0 {
				d.complain(here.key(key).key("rename").path, "a role cannot rename items", "rename them under mcpServers")
			}
			if len(filter.Disabled) > 0 {
				d.complain(here.key(key).key("disabled").path, "a role cannot disable items", "use deny instead")
			}
		}
		*to = append(*to, r)
	})
}

// bindings reads policy.bind. checkPolicy checks its roles once all roles are known.
func (d *decoder) bindings(to *[]Binding, n *node, at place) {
	if n.kind != list {
		d.fault(n.line, n.column, at.path, fmt.Sprintf("got %s, want a list", n.kind), "write [{role: reader, keys: [\"ci-*\"]}]")
		return
	}
	for i, item := range n.items {
		var b Binding
		here := at.item(i)
		d.record(here.path, item, nil)
		d.fields(reflect.ValueOf(&b).Elem(), "", item, here)
		*to = append(*to, b)
	}
}

// rejectEmpty reports a key in policy, auth or cluster that has no value. Its lines may have been commented out by mistake,
// which would permit more than intended, or let the gateway run alone.
func (d *decoder) rejectEmpty(n *node, at place) {
	section, _, _ := strings.Cut(at.path, ".")
	hint := map[string]string{"policy": "without policy, and in a role without restrictions, everything is permitted", "auth": "without keys, clients are not authenticated", "cluster": "without cluster, the gateway runs alone"}[section]
	if n.kind != invalidKind && hint != "" {
		d.fault(n.line, n.column, at.path, "no value given", "add a value, or remove the key; "+hint)
	}
}

// checkRole reports settings of a role that are invalid or have no effect. It replaces the names of projects with their
// slugs.
func (d *decoder) checkRole(r *Role, c *Config) {
	at := join("policy.roles", r.Written)
	for key, text := range map[string]string{"rate": r.Rate, "toolRate": r.ToolRate} {
		if _, err := ParseRate(text); err != nil {
			d.complain(join(at, key), err.Error(), "write 60/min, 5/s or 1000/h")
		}
	}
	if len(r.ReadOnlyTools) > 0 && !r.ReadOnly {
		d.complain(join(at, "readOnlyTools"), "the role is not read-only, so this has no effect", "add readOnly: true, or list them under tools.allow")
	}
	projects, _ := c.Project("")
	for i, name := range r.Projects {
		if r.Projects[i] = namespace.Slug(name); !slices.Contains(projects, r.Projects[i]) {
			hint := "define the project under projects"
			if near := Nearest(name, projects); near != "" {
				hint = fmt.Sprintf("did you mean %s?", near)
			}
			d.complain(d.itemPath(join(at, "projects"), i), fmt.Sprintf("no project %q", clip(name)), hint)
		}
	}
	for _, key := range []struct {
		name  string
		empty bool
	}{{"servers", len(r.Servers) == 0}, {"projects", len(r.Projects) == 0}} {
		if path := join(at, key.name); key.empty && d.written(path) {
			d.complain(path, "empty, which would mean all", "list at least one, or remove the key to mean all")
		}
	}
	for key, f := range map[string]Filter{"tools": r.Tools, "prompts": r.Prompts, "resources": r.Resources} {
		if path := join(join(at, key), "allow"); len(f.Allow) == 0 && d.written(path) {
			d.complain(path, "empty, which would mean all", "list at least one, remove the key to mean all, or write deny: [\"*\"] to mean none")
		}
	}
}

// checkPolicy checks roles, and reports bindings without effect or with an unknown role. It replaces the names of roles
// in bindings with their slugs.
func (d *decoder) checkPolicy(c *Config) {
	var names []string
	for i := range c.Policy.Roles {
		r := &c.Policy.Roles[i]
		names = append(names, r.Name)
		d.checkRole(r, c)
	}
	for i := range c.Policy.Bind {
		b := &c.Policy.Bind[i]
		at := place{path: "policy.bind"}.item(i).path
		role := namespace.Slug(b.Role)
		switch {
		case b.Role == "":
			d.complain(at, "role is missing", "add role: NAME with a role defined under policy.roles")
		case !slices.Contains(names, role):
			hint := "define the role under policy.roles"
			if near := Nearest(b.Role, names); near != "" {
				hint = fmt.Sprintf("did you mean %s?", near)
			}
			d.complain(join(at, "role"), fmt.Sprintf("no role %q", clip(b.Role)), hint)
		case len(b.Keys) == 0 && !b.Local:
			d.complain(at, "it assigns the role to no client", "write keys: [\"name-*\"], or local: true")
		}
		b.Role = role
	}
}
