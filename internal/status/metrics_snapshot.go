package status

import (
	"cmp"
	"fmt"
	"io"
	"slices"
)

// firstModern is the first protocol version without sessions; versions are dates and sort as text.
const firstModern = "2026-07-28"

// WriteSnapshot writes the states in s as gauges (restarts and dropped audit records as counters) in Prometheus text.
// It returns the first error of w.
func WriteSnapshot(w io.Writer, s *Snapshot) error {
	p := &page{}
	s.writeTo(p)
	return p.writeTo(w)
}

func (s *Snapshot) writeTo(p *page) {
	writeServerStates(p, s.Servers)
	writeBackendStates(p, s.Backends)
	writeStateSeconds(p, s)
	writeSessions(p, s.Sessions)
	parked := 0
	for _, c := range s.Calls {
		if c.State == "parked" {
			parked++
		}
	}
	p.single("goblin_parked_calls", float64(parked))
	writeActors(p, s.Actors)
	failed := 0.
	if s.ConfigFault != nil {
		failed = 1
	}
	p.single("goblin_config_reload_failed", failed)
	p.single("goblin_catalog_version", float64(s.Catalog.Version))
	writeAudit(p, s.Audit)
	s.writeCluster(p)
}

// writeCluster writes how many nodes the cluster has, how many sessions of other nodes this one serves, and which leases it has, if the
// gateway is in a cluster.
func (s *Snapshot) writeCluster(p *page) {
	if len(s.Nodes) == 0 {
		return
	}
	members, guests := 0, 0
	for i := range s.Nodes {
		if s.Nodes[i].IsMember() {
			members++
		}
	}
	for i := range s.Sessions {
		if s.Sessions[i].Guest {
			guests++
		}
	}
	p.single("goblin_cluster_members", float64(members))
	p.single("goblin_cluster_guests", float64(guests))
	p.family("goblin_cluster_lease")
	for i := range s.Servers {
		switch s.Servers[i].Lease {
		case LeaseHere:
			fmt.Fprintf(p, "goblin_cluster_lease{server=%q} 1\n", s.Servers[i].Name)
		case LeaseElsewhere:
			fmt.Fprintf(p, "goblin_cluster_lease{server=%q} 0\n", s.Servers[i].Name)
		}
	}
}

// writeAudit writes the state of the audit log, if there is one. A monitoring system that scrapes it thus stores how
// many lines the log has had.
func writeAudit(p *page, a *Audit) {
	if a == nil {
		return
	}
	p.single("goblin_audit_sequence", float64(a.Sequence))
	p.single("goblin_audit_signed_sequence", float64(a.Signed))
	p.single("goblin_audit_dropped_total", float64(a.Dropped))
	failing := 0.
	if a.Fault != "" {
		failing = 1
	}
	p.single("goblin_audit_failing", failing)
}

func writeServerStates(p *page, servers []Server) {
	p.family("goblin_queue_depth")
	for _, s := range servers {
		fmt.Fprintf(p, "goblin_queue_depth{server=%q} %d\n", s.Name, s.Queued)
	}
	p.family("goblin_in_flight")
	for _, s := range servers {
		fmt.Fprintf(p, "goblin_in_flight{server=%q} %d\n", s.Name, s.InFlight)
	}
	p.family("goblin_subscriptions")
	for _, s := range servers {
		fmt.Fprintf(p, "goblin_subscriptions{server=%q} %d\n", s.Name, s.Subscribed)
	}
	p.family("goblin_subscribers")
	for _, s := range servers {
		fmt.Fprintf(p, "goblin_subscribers{server=%q} %d\n", s.Name, s.Subscribers)
	}
	p.family("goblin_catalog_items")
	for _, s := range servers {
		for _, kind := range []struct {
			name string
			n    int
		}{{"tools", s.Tools}, {"prompts", s.Prompts}, {"resources", s.Resources}, {"templates", s.Templates}} {
			fmt.Fprintf(p, "goblin_catalog_items{server=%q,kind=%q} %d\n", s.Name, kind.name, kind.n)
		}
	}
}

// writeBackendStates writes one series per replica. The connections that list the catalog determine whether the replica
// is up and how often it was restarted; there are two of them while one replaces the other. All other connections only
// count for goblin_backend_connections.
func writeBackendStates(p *page, backends []Backend) {
	type replica struct {
		up, ready, others int
		restarts          uint64
	}
	replicas := map[string]*replica{} // replicas by labels
	for _, x := range backends {
		labels := fmt.Sprintf("server=%q,replica=\"%d\"", x.Server, x.Replica)
		r := replicas[labels]
		if r == nil {
			r = &replica{}
			replicas[labels] = r
		}
		isReady := x.State == "ready"
		if isReady {
			r.ready++
		} else {
			r.others++
		}
		if x.Catalog {
			r.restarts = max(r.restarts, max(x.Incarnation, 1)-1)
			if isReady {
				r.up = 1
			}
		}
	}
	names := sorted(replicas)
	p.family("goblin_backend_up")
	for _, labels := range names {
		fmt.Fprintf(p, "goblin_backend_up{%s} %d\n", labels, replicas[labels].up)
	}
	p.family("goblin_backend_restarts_total")
	for _, labels := range names {
		fmt.Fprintf(p, "goblin_backend_restarts_total{%s} %d\n", labels, replicas[labels].restarts)
	}
	p.family("goblin_backend_connections")
	for _, labels := range names {
		fmt.Fprintf(p, "goblin_backend_connections{%s,state=\"ready\"} %d\n", labels, replicas[labels].ready)
		fmt.Fprintf(p, "goblin_backend_connections{%s,state=\"other\"} %d\n", labels, replicas[labels].others)
	}
}

// writeStateSeconds writes how long each replica has been in its state. This reveals, for example, a replica whose
// handshake hangs. Of several connections that list the catalog, the newest one that is not draining counts.
func writeStateSeconds(p *page, s *Snapshot) {
	newest := map[string]Backend{}
	for _, x := range s.Backends {
		labels := fmt.Sprintf("server=%q,replica=\"%d\"", x.Server, x.Replica)
		if was, ok := newest[labels]; x.Catalog && (!ok || was.State == "draining" || was.Since.Before(x.Since) && x.State != "draining") {
			newest[labels] = x
		}
	}
	p.family("goblin_backend_state_seconds")
	for _, labels := range sorted(newest) {
		x := newest[labels]
		fmt.Fprintf(p, "goblin_backend_state_seconds{%s,state=%q} %d\n", labels, x.State, int64(max(0, s.Now.Sub(x.Since)).Seconds()))
	}
}

func writeSessions(p *page, sessions []Session) {
	counts := map[string]int{} // kinds without sessions are 0, not absent
	for _, transport := range []string{"http", "stdio"} {
		counts[fmt.Sprintf("{transport=%q,era=\"legacy\"}", transport)] = 0
		counts[fmt.Sprintf("{transport=%q,era=\"modern\"}", transport)] = 0
	}
	counts[`{transport="sse",era="legacy"}`] = 0
	for _, s := range sessions {
		era := "legacy"
		if s.Protocol >= firstModern {
			era = "modern"
		}
		counts[fmt.Sprintf("{transport=%q,era=%q}", cmp.Or(s.Transport, other), era)]++
	}
	p.family("goblin_sessions")
	for _, labels := range sorted(counts) {
		fmt.Fprintf(p, "goblin_sessions%s %d\n", labels, counts[labels])
	}
}

func writeActors(p *page, actors []Actor) {
	depth, restarts := map[string]int{}, map[string]uint64{}
	for _, a := range actors {
		depth[a.Kind] += a.Depth
		restarts[a.Kind] += a.Restarts
	}
	p.family("goblin_actor_mailbox_depth")
	for _, kind := range sorted(depth) {
		fmt.Fprintf(p, "goblin_actor_mailbox_depth{kind=%q} %d\n", kind, depth[kind])
	}
	p.family("goblin_actor_restarts_total")
	for _, kind := range sorted(restarts) {
		fmt.Fprintf(p, "goblin_actor_restarts_total{kind=%q} %d\n", kind, restarts[kind])
	}
}

// single writes a family with a single value.
func (p *page) single(name string, value float64) {
	p.family(name)
	fmt.Fprintf(p, "%s %g\n", name, value)
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
