package sim

import (
	"fmt"
	"strconv"
	"strings"

	"goblin-actor/internal/status"
)

// samples are the integer samples of the goblin_ families of /metrics, by name and labels as written.
type samples map[string]int

// scrape parses /metrics of a node. The parameter shown is the node's status.
func (n *node) scrape(shown *status.Snapshot) samples {
	var b strings.Builder
	if err := n.gateway.Metrics().Write(&b); err != nil {
		n.violated("/metrics: %v", err)
	}
	if err := status.WriteSnapshot(&b, shown); err != nil {
		n.violated("/metrics: %v", err)
	}
	all := samples{}
	for line := range strings.Lines(b.String()) {
		name, value, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found || !strings.HasPrefix(name, "goblin_") || strings.Contains(name, "_seconds") {
			continue
		}
		number, err := strconv.Atoi(value)
		if _, twice := all[name]; twice || err != nil {
			n.violated("/metrics has %q twice or with an invalid value", line)
		}
		all[name] = number
	}
	return all
}

// add adds the samples of another node.
func (m samples) add(other samples) {
	for name, n := range other {
		m[name] += n
	}
}

// sum returns the sum of a family's samples whose labels contain the given parts.
func (m samples) sum(family string, labels ...string) (sum int) {
	for name, n := range m {
		has := strings.HasPrefix(name, family+"{")
		for _, label := range labels {
			has = has && strings.Contains(name, label)
		}
		if has {
			sum += n
		}
	}
	return sum
}

// checkMetrics compares /metrics with what clients and servers know. No call may be in progress.
func (w *world) checkMetrics() {
	if w.failed() {
		return
	}
	m := samples{}
	var users []status.User
	for i, n := range w.nodes {
		shown := n.status()
		of := n.scrape(shown)
		n.checkMetrics(of)
		m.add(of)
		users = append(users, n.users(shown, i == 0)...)
	}
	for _, s := range w.servers {
		w.checkToolCounters(m, s)
	}
	w.checkUsers(users)
	w.checkFinished("after the scenes")
	for _, n := range w.nodes {
		n.checkSeconds()
	}
	w.checkRequestCounter(m, "completion/complete")
	w.checkRequestCounter(m, "resources/read")
	legacy := len(w.readyClients(func(c *client) bool { return !c.modern }))
	if n := m.sum("goblin_sessions", `era="legacy"`); n < legacy {
		w.violated("/metrics: %d legacy sessions, but %d clients have one", n, legacy)
	}
}

// checkMetrics compares a node's gauges with its connections and its counters with each other.
func (n *node) checkMetrics(m samples) {
	for _, gauge := range []string{"goblin_in_flight", "goblin_queue_depth"} {
		if now := m.sum(gauge); now != 0 {
			n.violated("/metrics: %s is %d, but no client waits", gauge, now)
		}
	}
	if now := m["goblin_parked_calls"]; now != 0 {
		n.violated("/metrics: goblin_parked_calls is %d, but no client waits", now)
	}
	for _, s := range n.w.servers {
		label := fmt.Sprintf("server=%q", s.name)
		if up, living := m.sum("goblin_backend_up", label), m.sum("goblin_backend_connections", label, `state="ready"`); up == 0 && !s.isLazy() || living != len(s.connsOf(n)) {
			n.violated("/metrics: %s has %d replicas up and %d connections; the server has %d", s.name, up, living, len(s.connsOf(n)))
		}
	}
	n.checkUsage(m)
}

// checkToolCounters compares the counters of a server's tools with the history. Every executed call, and every result
// and timeout that a client received, must be counted. No more calls may be counted than clients sent.
func (w *world) checkToolCounters(m samples, s *server) {
	asked, executed, open := 0, map[int]bool{}, 0
	results, errors, timeouts := map[int]bool{}, map[int]bool{}, map[int]bool{}
	for _, a := range w.history.requests {
		if a.nonce == 0 || !strings.HasPrefix(w.toolOf[a.nonce], s.name+"_") {
			continue
		}
		asked++
		if len(w.history.executedBy[a.nonce]) > 0 {
			executed[a.nonce] = true
		}
		switch {
		case a.abandoned || a.answers == 0:
			open++ // its response may have been in transit
		case !a.failed:
			results[a.nonce] = results[a.nonce] || !a.inputRequired
			open++ // other requests may wait for the same call
		case a.code == "":
			errors[a.nonce] = true
		case a.code == "OVERLOADED":
			open++ // or its result exceeded the buffer
		case a.code == "TIMEOUT" || a.code == "QUEUE_TIMEOUT":
			timeouts[a.nonce] = true
		}
	}
	label := fmt.Sprintf("server=%q", s.name)
	count := func(outcome string) int {
		return m.sum("goblin_calls_total", label, `method="tools/call"`, outcome)
	}
	if n := count(""); n < len(executed) || n > asked {
		w.violated("/metrics counts %d tool calls to %s; the server executed %d, clients sent %d", n, s.name, len(executed), asked)
	}
	if n := count(`outcome="ok"`); n < countTrue(results) || n > open {
		w.violated("/metrics counts %d successful tool calls to %s; want %d to %d", n, s.name, countTrue(results), open)
	}
	if n := count(`outcome="timeout"`); n < len(timeouts) {
		w.violated("/metrics counts %d timed-out tool calls to %s; clients got %d timeouts", n, s.name, len(timeouts))
	}
}

// checkRequestCounter compares the counter of a method other than tools/call with the clients' responses. Requests that
// led to input requests may or may not be counted: they end at a modern server, which receives a second request with the
// answers, and are only parked for a legacy server. Neither need requests be counted whose results exceeded the buffer.
func (w *world) checkRequestCounter(m samples, method string) {
	results, open := 0, 0
	for _, a := range w.history.requests {
		switch {
		case a.method != method:
		case a.abandoned || a.answers == 0, a.code == "OVERLOADED", a.inputRequired:
			open++
		case !a.failed:
			results++
		}
	}
	if n := m.sum("goblin_calls_total", fmt.Sprintf("method=%q", method), `outcome="ok"`); n < results || n > results+open {
		w.violated("/metrics: %d successful %s requests; clients have %d results, and at most %d more", n, method, results, open)
	}
}

func countTrue(m map[int]bool) (n int) {
	for _, yes := range m {
		if yes {
			n++
		}
	}
	return n
}
