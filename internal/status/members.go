package status

import "fmt"

// Members returns the members of a group that have connections, in the order of their replicas, each as a Server.
// Connections that are draining or stopped do not count. It returns nil if the server is not a group.
func (s *Snapshot) Members(server string) []Server {
	var group *Server
	for i := range s.Servers {
		if s.Servers[i].Name == server {
			group = &s.Servers[i]
		}
	}
	var list []Server
	for _, b := range s.Backends {
		if b.Server != server || b.Member == "" || !b.Catalog || group == nil {
			continue
		}
		if b.State == "draining" || b.State == "stopped" {
			continue // its replacement is listed instead
		}
		if len(list) == 0 || list[len(list)-1].Name != b.Member {
			list = append(list, Server{Name: b.Member, State: b.State, Reason: b.Reason, NextAttempt: b.NextAttempt, Settled: group.Settled,
				Tools: group.Tools, Prompts: group.Prompts, Resources: group.Resources, Templates: group.Templates})
		}
		m := &list[len(list)-1]
		m.Replicas++
		if b.State == "ready" {
			m.ReadyCount++
			m.State, m.Reason = b.State, ""
		}
	}
	return list
}

// Member returns the member with the given name of any group, as Members does, or nil.
func (s *Snapshot) Member(name string) *Server {
	for _, server := range s.Servers {
		for _, m := range s.Members(server.Name) {
			if m.Name == name {
				return &m
			}
		}
	}
	return nil
}

// Standing describes a member's state in a few words.
func (s *Server) Standing() string {
	if s.State != "ready" {
		return s.State
	}
	return fmt.Sprintf("%d/%d ready", s.ReadyCount, s.Replicas)
}
