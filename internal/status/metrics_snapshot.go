package status

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// firstModern is the first protocol version without sessions; versions are dates and sort as text.
const firstModern = "2026-07-28"

// WriteSnapshot writes the states in s as gauges (and restarts as counters) in Prometheus text. It returns the first error of w.
func WriteSnapshot(w io.Writer, s *Snapshot) error {
	var b strings.Builder
	writeServerStates(&b, s.Servers)
	writeBackendStates(&b, s.Backends)
	writeStateSeconds(&b, s)
	writeSessions(&b, s.Sessions)
	parked := 0
	for _, c := range s.Calls {
		if c.State == "parked" {
			parked++
		}
	}
	sample(&b, "goblin_parked_calls", "gauge", "", float64(parked))
	writeActors(&b, s.Actors)
	failed := 0.
	if s.ConfigFault != nil {
		failed = 1
	}
	sample(&b, "goblin_config_reload_failed", "gauge", "", failed)
	sample(&b, "goblin_catalog_version", "gauge", "", float64(s.Catalog.Version))
	writeAudit(&b, s.Audit)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeAudit writes the state of the audit log, if there is one. A monitoring system thus stores how many lines the log has had.
func writeAudit(b *strings.Builder, a *Audit) {
	if a == nil {
		return
	}
	sample(b, "goblin_audit_sequence", "gauge", "", float64(a.Sequence))
	sample(b, "goblin_audit_signed_sequence", "gauge", "", float64(a.Signed))
	sample(b, "goblin_audit_dropped_total", "counter", "", float64(a.Dropped))
	failing := 0.
	if a.Fault != "" {
		failing = 1
	}
	sample(b, "goblin_audit_failing", "gauge", "", failing)
}

func writeServerStates(b *strings.Builder, servers []Server) {
	family(b, "goblin_queue_depth", "gauge")
	for _, s := range servers {
		fmt.Fprintf(b, "goblin_queue_depth{server=%q} %d\n", s.Name, s.Queued)
	}
	family(b, "goblin_in_flight", "gauge")
	for _, s := range servers {
		fmt.Fprintf(b, "goblin_in_flight{server=%q} %d\n", s.Name, s.InFlight)
	}
	family(b, "goblin_subscriptions", "gauge")
	for _, s := range servers {
		fmt.Fprintf(b, "goblin_subscriptions{server=%q} %d\n", s.Name, s.Subscribed)
	}
	family(b, "goblin_subscribers", "gauge")
	for _, s := range servers {
		fmt.Fprintf(b, "goblin_subscribers{server=%q} %d\n", s.Name, s.Subscribers)
	}
	family(b, "goblin_catalog_items", "gauge")
	for _, s := range servers {
		for _, kind := range []struct {
			name string
			n    int
		}{{"tools", s.Tools}, {"prompts", s.Prompts}, {"resources", s.Resources}, {"templates", s.Templates}} {
			fmt.Fprintf(b, "goblin_catalog_items{server=%q,kind=%q} %d\n", s.Name, kind.name, kind.n)
		}
	}
}

// writeBackendStates writes one series per replica. The connection that lists the catalog determines whether the replica is up and how often it was
// reconnected, also while it is being replaced. Connections for classes of clients are only counted.
func writeBackendStates(b *strings.Builder, backends []Backend) {
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
	family(b, "goblin_backend_up", "gauge")
	for _, labels := range names {
		fmt.Fprintf(b, "goblin_backend_up{%s} %d\n", labels, replicas[labels].up)
	}
	family(b, "goblin_backend_restarts_total", "counter")
	for _, labels := range names {
		fmt.Fprintf(b, "goblin_backend_restarts_total{%s} %d\n", labels, replicas[labels].restarts)
	}
	family(b, "goblin_backend_connections", "gauge")
	for _, labels := range names {
		fmt.Fprintf(b, "goblin_backend_connections{%s,state=\"ready\"} %d\n", labels, replicas[labels].ready)
		fmt.Fprintf(b, "goblin_backend_connections{%s,state=\"other\"} %d\n", labels, replicas[labels].others)
	}
}

// writeStateSeconds writes how long each replica has been in its state, which shows, for example, one that hangs in its handshake. Of several
// connections that list the catalog, the newest counts.
func writeStateSeconds(b *strings.Builder, s *Snapshot) {
	newest := map[string]Backend{}
	for _, x := range s.Backends {
		labels := fmt.Sprintf("server=%q,replica=\"%d\"", x.Server, x.Replica)
		if was, ok := newest[labels]; x.Catalog && (!ok || was.State == "draining" || was.Since.Before(x.Since) && x.State != "draining") {
			newest[labels] = x
		}
	}
	family(b, "goblin_backend_state_seconds", "gauge")
	for _, labels := range sorted(newest) {
		x := newest[labels]
		fmt.Fprintf(b, "goblin_backend_state_seconds{%s,state=%q} %d\n", labels, x.State, int64(max(0, s.Now.Sub(x.Since)).Seconds()))
	}
}

func writeSessions(b *strings.Builder, sessions []Session) {
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
	family(b, "goblin_sessions", "gauge")
	for _, labels := range sorted(counts) {
		fmt.Fprintf(b, "goblin_sessions%s %d\n", labels, counts[labels])
	}
}

func writeActors(b *strings.Builder, actors []Actor) {
	depth, restarts := map[string]int{}, map[string]uint64{}
	for _, a := range actors {
		depth[a.Kind] += a.Depth
		restarts[a.Kind] += a.Restarts
	}
	family(b, "goblin_actor_mailbox_depth", "gauge")
	for _, kind := range sorted(depth) {
		fmt.Fprintf(b, "goblin_actor_mailbox_depth{kind=%q} %d\n", kind, depth[kind])
	}
	family(b, "goblin_actor_restarts_total", "counter")
	for _, kind := range sorted(restarts) {
		fmt.Fprintf(b, "goblin_actor_restarts_total{kind=%q} %d\n", kind, restarts[kind])
	}
}

// sample writes a family with a single value.
func sample(b *strings.Builder, name, kind, labels string, value float64) {
	family(b, name, kind)
	fmt.Fprintf(b, "%s%s %g\n", name, labels, value)
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
