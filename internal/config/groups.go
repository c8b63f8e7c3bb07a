package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// ownKeys are the keys that each member of a group sets for itself. The first member's value of every other key applies to the group,
// because one namespace has one set of filters, names and limits.
var ownKeys = []string{"disabled", "description", "command", "args", "env", "envFile", "inheritEnv", "cwd", "replicas", "urls", "type", "headers",
	"protocol", "startTimeout", "reconnect", "roots", "labels", "group", "run"}

// checkGroups reports groups whose name is taken, and members with settings that are ignored because the first
// member's apply.
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
			d.complain(path+".group", `the name "goblin" is reserved`, "choose another name")
		case taken >= 0:
			d.complain(path+".group", fmt.Sprintf("server %q has the same name but is not in the group", s.Group), "rename one of them")
		}
	}
}

// warnOfDifferences warns about keys of s that are ignored because the first member's value applies.
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
		d.warn(o.line, o.column, at, fmt.Sprintf("group %s uses the settings of its first member, %s, for %s", s.Group, first.Name, strings.Join(keys, ", ")),
			"set these keys in the first member only, or to the same value in all members")
	}
}

// says reports whether the entry at path sets the key or a key nested in it.
func (d *decoder) says(path, key string) bool {
	for written := range d.report.origins {
		if rest, ok := strings.CutPrefix(written, path+"."+key); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// Gather returns the configuration with each group merged into one server. The merged server has the group's name, and
// the position and settings of the first member. Projects that list a member refer to the group instead. c is not
// modified; if it has no groups, Gather returns c itself.
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

// namespaceOf returns a server for a group: the settings of its first member without those of the connection.
func namespaceOf(first Server) Server {
	s := first
	s.Name, s.Written, s.Group, s.Embedded = first.Group, first.Group, "", 0
	s.Command, s.Args, s.Env, s.InheritEnv, s.Cwd = "", nil, nil, false, ""
	s.URLs, s.Headers, s.Replicas, s.Run = nil, nil, 1, ""
	s.Hop, s.HopReplicas, s.Away, s.Shared = "", 0, nil, false
	return s
}

// MemberServer returns the server that stands for a member of a group on the node that runs it. first is the group's first member. All
// nodes reach the server as part of the group. They filter and name its items, decide which member gets a call, and repeat it on another
// one. So the server offers all its items, and repeats nothing.
func MemberServer(first, member Server) Server {
	s := first
	to, from := reflect.ValueOf(&s).Elem(), reflect.ValueOf(member)
	for _, f := range fieldsOf(from.Type()) {
		if slices.Contains(ownKeys, f.key) {
			to.FieldByIndex(f.index).Set(from.FieldByIndex(f.index))
		}
	}
	s.Name, s.Written, s.Order, s.Embedded, s.Fault = member.Name, member.Written, member.Order, member.Embedded, member.Fault
	s.Group, s.MemberOf, s.Auth, s.Prefix = "", member.Group, member.Auth, ""
	s.Tools, s.Prompts, s.ResourceFilter = ServerTools{Invalid: "show"}, Filter{}, Filter{}
	s.ValidateArguments, s.Retry.InFlight = "off", "never"
	s.Hop, s.HopReplicas, s.Away, s.Shared, s.Members = "", 0, nil, false, nil
	return s
}

// settle derives Disabled, Fault and Labels of a group from its members.
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

// Replica returns the entry to which the replica with the given number (from 0) belongs, the replica's index within
// that entry, and whether it should run. The replicas of a group are numbered member by member. For a number beyond
// them, it returns the group itself and false. Disabled members count, so enabling one does not renumber the others.
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

// NamedReplica finds the replica with the given number (from 0), as clients name it: replicas count in the order of the file, wherever they
// run. entry is the entry to which the replica belongs, own its index within that entry, and here the number by which Replica knows it. The
// replicas of an entry that is reached through another node (Hop) have one number there. ok is false if there is no such replica.
func (s *Server) NamedReplica(number int) (entry *Server, own, here int, ok bool) {
	entries := s.Members
	if len(entries) == 0 {
		entries = []Server{*s}
	}
	for i := range entries {
		entry = &entries[i]
		switch {
		case entry.Hop != "" && number < entry.HopReplicas:
			return entry, number, here, number >= 0
		case entry.Hop != "":
			number -= entry.HopReplicas
		case number < entry.ReplicaCount():
			return entry, number, here + number, number >= 0
		default:
			number -= entry.ReplicaCount()
		}
		here += entry.ReplicaCount()
	}
	return nil, 0, 0, false
}

// membersDiffer reports whether the members of two groups differ in name, fault or keys that affect connections or, if
// connection is false, in other keys. A different number of members is a difference, too.
func membersDiffer(a, b []Server, connection bool) bool {
	return !slices.EqualFunc(a, b, func(a, b Server) bool {
		if connection && (a.Name != b.Name || a.Fault != b.Fault) {
			return false
		}
		return !differ(a, b, connection)
	})
}

// SameConnection reports whether connections of s stay valid if it is replaced by next.
func (s *Server) SameConnection(next *Server) bool {
	return s.Name == next.Name && s.Fault == next.Fault && s.Disabled == next.Disabled && !differ(*s, *next, true)
}

// SameReplica reports whether the connection of replica i of was stays valid as replica j of next. A different number
// of replicas does not matter. Without addresses, i and j must be equal.
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
