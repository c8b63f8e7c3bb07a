package monitor

import (
	"cmp"
	"context"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
)

// survey queries the actors that have a part of the status, except those whose last report still holds, and combines
// the answers. It runs outside the actor, and blocks for at most surveyTime or until ctx ends. Later answers are
// missing.
func (m *monitor) survey(ctx context.Context) *status.Snapshot {
	overview := &status.Snapshot{Version: m.version, Started: m.started,
		Servers: []status.Server{}, Backends: []status.Backend{}, Sessions: []status.Session{}, Calls: []status.Call{}, // empty lists are [] in JSON, not null
		Subscriptions: []status.Subscription{}}
	infos := m.system.Actors()
	overview.Actors = make([]status.Actor, 0, len(infos))
	answers := make(chan answer, len(infos))
	var report message.CatalogReport
	m.reports.begin()
	defer m.reports.end()
	asked := 0
	for i := range infos {
		info := &infos[i]
		overview.Actors = append(overview.Actors, actorOf(info))
		switch info.Kind {
		case "gateway", "pool", "backend", "session", "desk", "listen", "seconds", "membership":
		default:
			continue
		}
		ref, ok := m.system.Lookup(info.Name)
		if !ok {
			continue
		}
		if known := m.reports.of(ref, info); known != nil {
			collect(overview, &report, *known)
			continue
		}
		asked++
		ref.Tell(message.Inspect{Reply: func(part any) { answers <- answer{ref, info, part} }})
	}
	timeout := time.NewTimer(surveyTime)
	defer timeout.Stop()
	for range asked {
		select {
		case a := <-answers:
			if r, is := a.part.(message.SessionReport); is {
				m.reports.keep(a.actor, a.info, r)
			}
			collect(overview, &report, a.part)
		case <-timeout.C:
			return finish(overview, report)
		case <-ctx.Done():
			return finish(overview, report)
		}
	}
	return finish(overview, report)
}

// answer is an actor's answer to Inspect.
type answer struct {
	actor kernel.Reference
	info  *kernel.Info // before the request
	part  any
}

func actorOf(i *kernel.Info) status.Actor {
	return status.Actor{
		Name: message.ShortName(i.Name), Kind: i.Kind, Depth: i.Depth, Handled: i.Handled, Refused: i.Refused,
		Panics: i.Panics, Restarts: uint64(i.Restarts), Last: i.Last, Recorded: i.Recorded,
	}
}

// explainQueued sets what queued calls wait for. Their holders do not know it, but the servers' pools do.
func explainQueued(overview *status.Snapshot) {
	waits := map[string]string{}
	for i := range overview.Servers {
		waits[overview.Servers[i].Name] = overview.Servers[i].QueueWaits
	}
	for i := range overview.Calls {
		if c := &overview.Calls[i]; c.WaitsFor == "" {
			c.WaitsFor = cmp.Or(waits[c.Server], "the server to accept the request")
		}
	}
}

// markRecorded sets Server.Recorded: when the recording of the messages of its pool ends.
func markRecorded(overview *status.Snapshot) {
	for i := range overview.Actors {
		a := &overview.Actors[i]
		if a.Kind != "pool" || a.Recorded.IsZero() {
			continue
		}
		for j := range overview.Servers {
			if s := &overview.Servers[j]; a.Name == "gateway/pool/"+s.Name {
				s.Recorded = a.Recorded
			}
		}
	}
}

func collect(overview *status.Snapshot, report *message.CatalogReport, part any) {
	switch p := part.(type) {
	case status.Server:
		overview.Servers = append(overview.Servers, p)
	case status.Backend:
		overview.Backends = append(overview.Backends, p)
	case message.SessionReport:
		if p.Session.ID != "" { // the report of a stateless actor contains only calls
			overview.Sessions = append(overview.Sessions, p.Session)
		}
		overview.Calls = append(overview.Calls, p.Calls...)
		overview.Subscriptions = append(overview.Subscriptions, p.Subscriptions...)
	case message.CatalogReport:
		*report = p
	case []status.Node:
		overview.Nodes = p
	case status.Process:
		process := status.NewProcess()
		process.CPU = p.CPU
		overview.Process = &process
	}
}

// joining reports whether this node is not a member of its cluster yet, or not any more.
func joining(nodes []status.Node) bool {
	return slices.ContainsFunc(nodes, func(n status.Node) bool {
		return n.Self && n.State != status.NodeMember && n.State != status.NodeDraining
	})
}

// draining reports whether this node of a cluster is about to stop.
func draining(nodes []status.Node) bool {
	return slices.ContainsFunc(nodes, func(n status.Node) bool { return n.Self && n.State == status.NodeDraining })
}

// finish adds the gateway's part, sorts the lists, and determines which servers are still starting or have failed,
// and whether the gateway is ready.
func finish(overview *status.Snapshot, report message.CatalogReport) *status.Snapshot {
	overview.Now = time.Now()
	overview.Listen, overview.Config, overview.Draining, overview.Catalog = report.Listen, report.Config, report.Draining || draining(overview.Nodes), report.Catalog
	overview.ConfigFault, overview.Projects, overview.TLS = report.Fault, report.Projects, report.TLS
	missing := slices.Clone(report.Enabled) // enabled servers whose pool has not started or did not answer
	for i := range overview.Servers {
		s := &overview.Servers[i]
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == s.Name })
		s.DisabledTools = report.Off[s.Name]
		if c, ok := report.Counts[s.Name]; ok {
			s.Tools, s.Prompts, s.Resources, s.Templates = c.Tools, c.Prompts, c.Resources, c.Templates
			s.Invalid = report.Invalid[s.Name]
			s.Warnings = append(s.Warnings, status.InvalidWarnings(s.Invalid)...)
		}
		if !s.Settled || !s.FailedFirst && !report.Settled[s.Name] { // a list is published up to 250 ms after it was fetched
			overview.Waiting = append(overview.Waiting, s.Name)
		}
		if s.FailedFirst && s.ReadyCount == 0 && s.State != string(message.Idle) { // the server may have recovered
			overview.Failed = append(overview.Failed, s.Name)
		}
	}
	explainQueued(overview)
	markRecorded(overview)
	overview.Servers = append(overview.Servers, report.Disabled...)
	overview.Waiting = append(overview.Waiting, missing...)
	overview.Ready = len(overview.Waiting) == 0 && !overview.Draining && !joining(overview.Nodes) && report.Counts != nil // no Counts: the gateway did not answer
	overview.SortRows()
	slices.Sort(overview.Waiting)
	slices.Sort(overview.Failed)
	return overview
}
