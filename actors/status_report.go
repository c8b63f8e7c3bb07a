package actors

import (
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

func (s *state) stepStatus(msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.Published:
		was := s.snapshot
		s.snapshot = m.Snapshot
		if projects := s.snapshot.Projects(); was == nil || !slices.Equal(was.Projects(), projects) {
			out = append(out, kernel.Act(admitTo{projects}))
		}
		return s.checkPeerCatalogs(out)
	case message.Listening:
		s.listen, s.tls = m.Addresses, m.TLS
	case message.GetCatalog:
		m.Reply <- s.snapshot
	case message.Inspect:
		m.Reply(s.report())
	}
	return out
}

// report returns the gateway's own part of the status; its children report theirs.
func (s *state) report() message.CatalogReport {
	r := message.CatalogReport{
		Listen: s.listen, TLS: s.tls, Config: s.config.Path, Fault: s.reloads.fault, Draining: s.drain.started,
		Counts: map[string]status.Catalog{}, Invalid: map[string][]status.Invalid{}, Settled: map[string]bool{}, Off: map[string][]string{},
	}
	for _, server := range s.config.Servers {
		if server.Disabled {
			r.Disabled = append(r.Disabled, status.Server{Name: server.Name, State: string(message.Disabled), Description: server.Description, Settled: true})
			continue
		}
		r.Enabled = append(r.Enabled, server.Name)
		if len(server.Tools.Disabled) > 0 {
			r.Off[server.Name] = server.Tools.Disabled
		}
		r.Disabled = append(r.Disabled, disabledMembers(&server)...)
	}
	if s.snapshot == nil {
		return r
	}
	r.Catalog.Version = s.snapshot.Version
	r.Projects = projectsOf(s.snapshot)
	for _, server := range s.snapshot.Servers() {
		r.Settled[server.Name] = server.Listed()
		n := s.snapshot.Counts(server.Name)
		c := status.Catalog{Tools: n[protocol.Tools], Prompts: n[protocol.Prompts], Resources: n[protocol.Resources], Templates: n[protocol.Templates]}
		r.Counts[server.Name] = c
		for _, t := range s.snapshot.Invalid(server.Name) {
			r.Invalid[server.Name] = append(r.Invalid[server.Name], status.Invalid{Tool: t.Own, Pointer: t.Fault.Pointer, Reason: t.Fault.Reason, Hidden: t.Hidden, Output: t.Output})
		}
		r.Catalog.Tools += c.Tools
		r.Catalog.Prompts += c.Prompts
		r.Catalog.Resources += c.Resources
		r.Catalog.Templates += c.Templates
	}
	for i := range s.config.Servers {
		if member := &s.config.Servers[i]; member.MemberOf != "" {
			server := s.snapshot.Server(member.Name)
			r.Settled[member.Name] = server != nil && server.Listed()
		}
	}
	return r
}

// disabledMembers returns the members of a group that do not run.
func disabledMembers(server *config.Server) (list []status.Server) {
	for _, m := range server.Members {
		switch {
		case m.Disabled:
			list = append(list, status.Server{Name: m.Name, State: string(message.Disabled), Description: "of " + server.Name, Settled: true})
		case m.Fault != "" && server.Fault == "":
			list = append(list, status.Server{Name: m.Name, State: string(message.Misconfigured), Reason: m.Fault, Hint: "fix the configuration: run goblin-actor config check",
				Description: "of " + server.Name, Settled: true})
		}
	}
	return list
}
