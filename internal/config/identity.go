package config

import (
	"fmt"
	"reflect"
	"slices"

	"goblin-actor/protocol"
)

// tls reads tls: a mapping, or the word off.
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
		r := Role{Name: name, Written: m.key, Admin: "none"}
		d.fields(reflect.ValueOf(&r).Elem(), "", m.value, here)
		for key, filter := range map[string]Filter{"tools": r.Tools, "prompts": r.Prompts, "resources": r.Resources} {
			if len(filter.Rename) > 0 {
				d.complain(here.key(key).key("rename").path, "a role renames nothing", "rename under mcpServers")
			}
			if len(filter.Disabled) > 0 {
				d.complain(here.key(key).key("disabled").path, "a role switches nothing off", "write it under deny")
			}
		}
		*to = append(*to, r)
	})
}

// bindings reads policy.bind; its roles are checked when all are known.
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

// checkPolicy finds roles that are not there, and bindings that give nobody anything.
func (d *decoder) checkPolicy(c *Config) {
	var names []string
	for _, r := range c.Policy.Roles {
		names = append(names, r.Name)
	}
	for i := range c.Policy.Bind {
		b := &c.Policy.Bind[i]
		at := place{path: "policy.bind"}.item(i).path
		role := protocol.Slug(b.Role)
		switch {
		case b.Role == "":
			d.complain(at, "role is missing", "name one of policy.roles")
		case !slices.Contains(names, role):
			hint := "roles are named under policy.roles"
			if near := Nearest(b.Role, names); near != "" {
				hint = fmt.Sprintf("did you mean %s?", near)
			}
			d.complain(join(at, "role"), fmt.Sprintf("no role %q", clip(b.Role)), hint)
		case len(b.Keys) == 0 && !b.Local:
			d.complain(at, "it gives the role to nobody", "write keys: [\"name-*\"], or local: true")
		}
		b.Role = role
	}
}
