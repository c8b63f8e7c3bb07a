package sim

import (
	"fmt"
	"strconv"
	"strings"

	"goblin-actor/internal/status"
)

// scraped are the series of /metrics, by name and labels as they are written.
type scraped map[string]int

// scrape reads /metrics as Prometheus does.
func (w *world) scrape() scraped {
	var b strings.Builder
	if err := w.gateway.Metrics().Write(&b); err != nil {
		w.broken("/metrics: %v", err)
	}
	if err := status.WriteSnapshot(&b, w.status()); err != nil {
		w.broken("/metrics: %v", err)
	}
	all := scraped{}
	for line := range strings.Lines(b.String()) {
		name, value, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found || !strings.HasPrefix(name, "goblin_") || strings.Contains(name, "_seconds") {
			continue
		}
		n, err := strconv.Atoi(value)
		if _, twice := all[name]; twice || err != nil {
			w.broken("/metrics has %q twice, or what is no number", line)
		}
		all[name] = n
	}
	return all
}

// sum adds the series of a family whose labels have these parts.
func (m scraped) sum(family string, labels ...string) (sum int) {
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

// measured: /metrics says what the peers know, once nothing is under way any more.
func (w *world) measured() {
	if w.failed() {
		return
	}
	m := w.scrape()
	for _, gauge := range []string{"goblin_in_flight", "goblin_queue_depth"} {
		if n := m.sum(gauge); n != 0 {
			w.broken("/metrics: %s is %d, and nobody waits", gauge, n)
		}
	}
	if n := m["goblin_parked_calls"]; n != 0 {
		w.broken("/metrics: goblin_parked_calls is %d, and nobody waits", n)
	}
	for _, s := range w.servers {
		label := fmt.Sprintf("server=%q", s.name)
		if up, living := m.sum("goblin_backend_up", label), m.sum("goblin_backend_connections", label, `state="ready"`); up == 0 && !s.sleeps() || living != len(s.living()) {
			w.broken("/metrics: %s has %d replicas up and %d connections; it knows of %d", s.name, up, living, len(s.living()))
		}
		w.counted(m, s)
	}
	w.countedAlike(m, "completion/complete")
	w.countedAlike(m, "resources/read")
	legacy := len(w.someone(func(c *client) bool { return !c.modern }))
	if n := m.sum("goblin_sessions", `era="legacy"`); n < legacy {
		w.broken("/metrics: %d sessions; %d clients have one", n, legacy)
	}
}

// counted holds the counters of a server's tools against its book: what it executed was counted, by its result, and
// nothing that no client has asked for.
func (w *world) counted(m scraped, s *server) {
	asked, executed, open := 0, map[int]bool{}, 0
	results, errors, timeouts := map[int]bool{}, map[int]bool{}, map[int]bool{}
	for _, a := range w.book.asks {
		if a.nonce == 0 || !strings.HasPrefix(w.toolOf[a.nonce], s.name+"_") {
			continue
		}
		asked++
		if len(w.book.done[a.nonce]) > 0 {
			executed[a.nonce] = true
		}
		switch {
		case a.given || a.answers == 0:
			open++ // its answer may have been on its way
		case !a.failed:
			results[a.nonce] = results[a.nonce] || !a.asks
			open++ // others may wait for the same call
		case a.fault == "":
			errors[a.nonce] = true
		case a.fault == "OVERLOADED":
			open++ // or it found no room for its result
		case a.fault == "TIMEOUT" || a.fault == "QUEUE_TIMEOUT":
			timeouts[a.nonce] = true
		}
	}
	label := fmt.Sprintf("server=%q", s.name)
	count := func(outcome string) int {
		return m.sum("goblin_calls_total", label, `method="tools/call"`, outcome)
	}
	if n := count(""); n < len(executed) || n > asked {
		w.broken("/metrics: %d calls of tools of %s; it executed %d, and clients asked for %d", n, s.name, len(executed), asked)
	}
	if n := count(`outcome="ok"`); n < truths(results) || n > open {
		w.broken("/metrics: %d calls of tools of %s went well; clients have %d results, and at most %d", n, s.name, truths(results), open)
	}
	if n := count(`outcome="timeout"`); n < len(timeouts) {
		w.broken("/metrics: %d calls of tools of %s took too long; clients were told of %d", n, s.name, len(timeouts))
	}
}

// countedAlike holds the counters of requests that come alone against what clients were answered. A question ends the request
// of a modern server, which is asked again with the answers, and only parks that of a legacy one: it may count or not. So may a
// result that found no room.
func (w *world) countedAlike(m scraped, method string) {
	results, open := 0, 0
	for _, a := range w.book.asks {
		switch {
		case a.method != method:
		case a.given || a.answers == 0, a.fault == "OVERLOADED", a.asks:
			open++
		case !a.failed:
			results++
		}
	}
	if n := m.sum("goblin_calls_total", fmt.Sprintf("method=%q", method), `outcome="ok"`); n < results || n > results+open {
		w.broken("/metrics: %d × %s went well; clients have %d results, and at most %d more", n, method, results, open)
	}
}

func truths(m map[int]bool) (n int) {
	for _, yes := range m {
		if yes {
			n++
		}
	}
	return n
}
