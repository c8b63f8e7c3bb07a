package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// ownKeys are what each member of a group has for itself. Of the rest the first member's counts for all: one namespace has one set of
// filters, names and limits.
var ownKeys = []string{"disabled", "description", "command", "args", "env", "inheritEnv", "cwd", "replicas", "urls", "type", "headers",
	"protocol", "startTimeout", "reconnect", "roots", "labels", "group"}

// checkGroups finds groups whose name is taken, and members that say what the first one decides.
func (d *decoder) checkGroups(c *Config) {
	first := map[string]*Server{}
	for i := range c.Servers {
		s := &c.Servers[i]
		if s.Group == "" {
			continue
		}
		path := join("mcpServers", s.Written)
		leader := first[s.Group]
		if leader != nil {
			d.warnOfDifferences(leader, s, path)
			continue
		}
		first[s.Group] = s
		switch taken := slices.IndexFunc(c.Servers, func(other Server) bool { return other.Name == s.Group && other.Group != s.Group }); {
		case s.Group == ownName:
			d.complain(path+".group", `the name "goblin" is ours`, "choose another name")
		case taken >= 0:
			d.complain(path+".group", fmt.Sprintf("there is a server called %q, which is not in the group", s.Group), "rename one of them: a group is called like a server")
		}
	}
}

// warnOfDifferences says of which keys the first member's value counts.
func (d *decoder) warnOfDifferences(first, s *Server, path string) {
	a, b := reflect.ValueOf(*first), reflect.ValueOf(*s)
	var keys []string
	for _, f := range fieldsOf(a.Type()) {
		if slices.Contains(ownKeys, f.key) || same(a.FieldByIndex(f.index), b.FieldByIndex(f.index)) {
			continue
		}
		if d.says(path, f.key) {
			keys = append(keys, f.key)
		}
	}
	if len(keys) > 0 {
		at := path + ".group"
		o := d.report.origins[at]
		d.warn(o.line, o.column, at, fmt.Sprintf("the first member of group %s, %s, decides for all: %s", s.Group, first.Name, strings.Join(keys, ", ")),
			"write these there, or alike")
	}
}

// says reports whether the file has the key, or something below it, in the entry at path.
func (d *decoder) says(path, key string) bool {
	for written := range d.report.origins {
		if rest, ok := strings.CutPrefix(written, path+"."+key); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// Gather returns the configuration as it is carried out: the servers of a group are one, called after it, at the place of the first,
// whose settings count, and projects name that one. c stays as it is.
func Gather(c *Config) *Config {
	if !slices.ContainsFunc(c.Servers, func(s Server) bool { return s.Group != "" }) {
		return c
	}
	gathered := *c
	gathered.Servers = nil
	groupOf, at := map[string]string{}, map[string]int{}
	for _, s := range c.Servers {
		if s.Group == "" {
			gathered.Servers = append(gathered.Servers, s)
			continue
		}
		groupOf[s.Name] = s.Group
		i, known := at[s.Group]
		if !known {
			i = len(gathered.Servers)
			at[s.Group] = i
			gathered.Servers = append(gathered.Servers, namespaceOf(s))
		}
		gathered.Servers[i].Members = append(gathered.Servers[i].Members, s)
	}
	for _, i := range at {
		gathered.Servers[i].settle()
	}
	gathered.Projects = slices.Clone(c.Projects)
	for i := range gathered.Projects {
		p := &gathered.Projects[i]
		p.Servers = slices.Clone(p.Servers)
		for j, name := range p.Servers {
			if group := groupOf[name]; group != "" {
				p.Servers[j] = group
			}
		}
	}
	return &gathered
}

// namespaceOf is a group with the settings of its first member, which it can reach nothing by.
func namespaceOf(first Server) Server {
	s := first
	s.Name, s.Written, s.Group = first.Group, first.Group, ""
	s.Command, s.Args, s.Env, s.InheritEnv, s.Cwd = "", nil, nil, false, ""
	s.URLs, s.Headers, s.Replicas = nil, nil, 1
	return s
}

// settle works out what a group is from what its members are.
func (s *Server) settle() {
	var faults []string
	s.Disabled, s.Fault = true, ""
	s.Labels = nil
	for i, m := range s.Members {
		if s.Disabled = s.Disabled && m.Disabled; m.Fault != "" && !m.Disabled {
			faults = append(faults, m.Name+": "+m.Fault)
		}
		if i == 0 {
			s.Labels = m.Labels
			continue
		}
		common := map[string]string{}
		for key, value := range s.Labels {
			if m.Carries(map[string]string{key: value}) {
				common[key] = value
			}
		}
		s.Labels = common
	}
	if !slices.ContainsFunc(s.Members, Server.runs) {
		s.Fault = strings.Join(faults, "; ")
	}
}

func (s Server) runs() bool { return !s.Disabled && s.Fault == "" }

// Replica returns the entry that a replica, counted from 0, is of, which of its own it is, and whether it is to run. Of a group the
// replicas of its members follow each other, also of those that are disabled: so switching one on or off leaves the others' numbers.
func (s *Server) Replica(number int) (entry *Server, own int, runs bool) {
	if len(s.Members) == 0 {
		return s, number, number < s.ReplicaCount()
	}
	for i := range s.Members {
		m := &s.Members[i]
		n := m.ReplicaCount()
		if number < n {
			return m, number, m.runs()
		}
		number -= n
	}
	return s, number, false
}

// membersDiffer tells whether the members of a group differ in what their connections depend on, or in anything else.
func membersDiffer(a, b []Server, connection bool) bool {
	return !slices.EqualFunc(a, b, func(a, b Server) bool {
		if connection && (a.Name != b.Name || a.Fault != b.Fault) {
			return false
		}
		return !differ(a, b, connection)
	})
}

// SameConnection tells whether the connections of an entry stay as they are when it becomes the other one.
func (s *Server) SameConnection(next *Server) bool {
	return s.Name == next.Name && s.Fault == next.Fault && s.Disabled == next.Disabled && !differ(*s, *next, true)
}

// SameReplica tells whether the connections of a replica of an entry stay as they are when it becomes that of the other one. Of several
// replicas each is by itself: how many there are is no matter of theirs.
func SameReplica(was *Server, i int, next *Server, j int) bool {
	a, b := *was, *next
	switch {
	case len(a.URLs) > 0 && len(b.URLs) > 0:
		a.URLs, b.URLs = a.URLs[i:i+1], b.URLs[j:j+1]
	case i != j:
		return false
	}
	a.Replicas, b.Replicas = 1, 1
	return a.SameConnection(&b)
}
