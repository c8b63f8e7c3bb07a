package limits

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"goblin-actor/bench/report"
)

// full is the fraction of processor time above which the processors count as the bottleneck.
const full = 0.88

// explain sets the bottleneck of the series, the reason for it, and what to change.
func explain(s *report.LimitSeries, server Server, limit time.Duration) {
	c := causeOf(s, server)
	s.Bottleneck, s.Why, s.Change = c.what, c.why, c.change
	switch {
	case s.Ended == "max" && s.Raise != "clients" && s.Bottleneck != "not reached":
		s.Why = "No limit was reached before the end of the run. The closest limit: " + s.Why
	case s.Ended == "max" && s.Raise == "clients", s.Ended == "time":
		s.Why = "Throughput was still growing when the run ended. So far: " + s.Why
	case s.Ended == "falls" && s.Raise != "rate":
		s.Why = "With more " + s.Raise + ", calls become slower. " + s.Why
	}
	if s.Ended == "p99" {
		s.Why = fmt.Sprintf("With more %s, the p99 latency exceeds --p99 %s. %s", map[bool]string{true: "calls per second", false: s.Raise}[s.Raise == "rate"], limit, s.Why)
	}
}

// cause is the bottleneck of a series.
type cause struct{ what, why, change string }

// causeOf determines the bottleneck from the step after the knee, in which the scarce resource is exhausted. If there
// is no such step, it uses the knee. Without a knee, the cause is that the calls of the first step failed.
func causeOf(s *report.LimitSeries, server Server) cause {
	if s.Knee == nil {
		if len(s.Steps) == 0 {
			return cause{what: "unknown", why: "No step was measured."}
		}
		return refusal(s.Steps[0], server)
	}
	at := *s.Knee
	for i := range s.Steps[:len(s.Steps)-1] {
		if &s.Steps[i] == s.Knee {
			at = s.Steps[i+1]
		}
	}
	if s.Ended == "errors" {
		return refusal(at, server)
	}
	slots, key := server.MaxConcurrent, "maxConcurrent"
	if server.Leased > 0 {
		slots, key = server.Leased, "maxBackends"
	}
	// The number of slots is the bottleneck if all slots were used and further calls spent their time in the queue.
	last := at
	for _, step := range s.Steps {
		if good(step, 0) && step.Clients >= at.Clients { // refused calls do not wait
			last = step
		}
	}
	if slots > 0 && slots <= s.Knee.Clients && last.Waited > .3*last.P50 {
		return queued(last, server, slots, key)
	}
	if c, ok := busy(at, server, s.Transport); ok {
		return c
	}
	if slots == 0 && at.Queued > 0 {
		return cause{"queue", fmt.Sprintf("%d calls waited in the gateway while %d were at the server.", at.Queued, at.InFlight),
			"raise mcpServers.<server>.maxConcurrent of that gateway, if the server supports more concurrent calls"}
	}
	return waiting(s, at, server)
}

// queued returns the cause if calls wait for a slot.
func queued(at report.LimitStep, server Server, slots int, key string) cause {
	c := cause{key, fmt.Sprintf("%s allows %d concurrent calls to %s; with %d clients a call took %s, %s of it in the queue.",
		key, slots, server.Name, at.Clients, report.FormatMicros(at.P50), report.FormatMicros(min(at.Waited, at.P50))),
		fmt.Sprintf("raise mcpServers.%s.%s, if the server supports more concurrent calls", server.Name, key)}
	if share(at.CPU) >= full && ours(at.CPU) > .4*at.CPU.Cores {
		c.why += " The processors are nearly exhausted as well (" + words(at.CPU, server.gateway()) + "), so a higher limit may help little on this machine."
	}
	return c
}

// refusal returns the cause if calls fail.
func refusal(at report.LimitStep, server Server) cause {
	if at.Crossed+at.Lost > 0 {
		return cause{"answers", fmt.Sprintf("With %s, %d responses were lost and %d went to the wrong request.", report.FormatClients(at.Clients), at.Lost, at.Crossed), ""}
	}
	name, most := "none", 0
	for _, n := range slices.Sorted(maps.Keys(at.Refused)) {
		if at.Refused[n] > most {
			name, most = n, at.Refused[n]
		}
	}
	c := cause{"errors", fmt.Sprintf("With %s, %d of %d calls failed, most with %s.", report.FormatClients(at.Clients), at.Failures(), at.Calls+at.Failures(), name), ""}
	if at.Refused == nil {
		c.why = fmt.Sprintf("With %s, no call succeeded.", report.FormatClients(at.Clients))
	}
	c.change = remedy(name, server)
	return c
}

// remedy returns what to change if calls fail with the error of that name.
func remedy(name string, server Server) string {
	of := "mcpServers." + server.Name + "."
	for _, r := range []struct{ begins, change string }{ // the first match
		{"QUEUE_FULL (maxConcurrent)", "set " + of + "maxConcurrent to at most a few hundred, so that calls wait in the queue instead of being refused; more concurrent calls need replicas"},
		{"QUEUE_FULL", "raise " + of + "queue.size, or " + of + "maxConcurrent if the server supports more concurrent calls"},
		{"QUEUE_TIMEOUT", "raise " + of + "maxConcurrent if the server supports more concurrent calls, else " + of + "queue.timeout"},
		{"TIMEOUT", "raise " + of + "timeout, or lower " + of + "maxConcurrent so that the server handles fewer calls at a time"},
		{"OVERLOADED (limits.maxInFlightPerClient)", "raise limits.maxInFlightPerClient, if that many calls will come from one address: all modern clients of one address count as one client, as in this run"},
		{"OVERLOADED (", "raise " + strings.TrimSuffix(strings.TrimPrefix(name, "OVERLOADED ("), ")")},
		{"OVERLOADED", "no configuration setting would help: a gateway limits the calls from one address, and all calls of this run came from one"},
		{"HTTP 503", "raise limits.maxSessions"},
		{"RATE_LIMITED", "raise rate or toolRate of the clients' roles under policy.roles; if the server answered HTTP 429, the limit is the server's own"},
	} {
		if strings.HasPrefix(name, r.begins) {
			return r.change
		}
	}
	return ""
}

// busy returns the cause if processor time is exhausted. The second result reports whether it is.
func busy(at report.LimitStep, server Server, transport string) (cause, bool) {
	cpu := at.CPU
	if share(cpu) < full || ours(cpu) < .25*cpu.Cores { // on a machine that is busy with other programs, full processors do not prove that the load waits for them
		if cpu.Busiest < full {
			return cause{}, false
		}
		c := cause{"server CPU", fmt.Sprintf("A process of %s keeps one core busy (%.0f %%); it is probably single-threaded.", server.Name, 100*cpu.Busiest), ""}
		if transport == "stdio" {
			c.change = fmt.Sprintf("set mcpServers.%s.replicas: %d, if several instances may run at once", server.Name, server.Replicas+1)
		}
		return c, true
	}
	what, most := "", 0.0
	for _, part := range []struct {
		name string
		cpu  float64
	}{{"load generator CPU", cpu.Load}, {server.gateway() + " CPU", cpu.Gateway}, {"server CPU", cpu.Servers}, {"other programs", cpu.Other}} {
		if part.cpu > most {
			what, most = part.name, part.cpu
		}
	}
	c := cause{what, "The processors are exhausted: " + words(cpu, server.gateway()) + ".", "no configuration setting would help; add cores"}
	switch what {
	case "load generator CPU":
		c.change = "no configuration setting would help; run the load from another machine (--target), or add cores"
	case "other programs":
		c.change = "no configuration setting would help; measure again when the machine is less busy"
	}
	return c, true
}

// waiting returns the cause if neither processors nor slots are exhausted: the server becomes slower with more clients,
// or nothing is exhausted.
func waiting(s *report.LimitSeries, at report.LimitStep, server Server) cause {
	name := server.Name
	if n := len(s.Direct); n > 0 && s.Direct[n-1].Clients >= s.Knee.Clients && s.Direct[n-1].PerSecond < 1.15*s.Knee.PerSecond {
		d := s.Direct[n-1]
		return cause{"server", fmt.Sprintf("Called directly by %s, %s is not faster: %.0f calls/s, p50 %s.", report.FormatClients(d.Clients), name, d.PerSecond, report.FormatMicros(d.P50)), replicas(s, server)}
	}
	first := s.Steps[0]
	if now, alone := took(at), took(first); alone > 0 && now > 1.5*alone && at.Clients > first.Clients { // not if something other than clients is raised
		c := cause{"server", fmt.Sprintf("A call to %s takes %s with %d clients and %s with one, and the processors are not exhausted: the server limits its concurrency or waits for something.",
			name, report.FormatMicros(now), at.Clients, report.FormatMicros(alone)), replicas(s, server)}
		if share(at.CPU) >= full {
			c.why = fmt.Sprintf("A call to %s takes %s with %d clients and %s with one. The server limits its concurrency, or other programs, which use %.1f of %.3g cores, slow it down: measure again when the machine is less busy.",
				name, report.FormatMicros(now), at.Clients, report.FormatMicros(alone), at.CPU.Other, at.CPU.Cores)
		}
		return c
	}
	c := cause{"not reached", fmt.Sprintf("Nothing measured is exhausted: %s, and no call waits in a queue.", words(at.CPU, server.gateway())), ""}
	if at.CPU.Other > at.CPU.Cores/2 {
		c.change = "no configuration setting would help; measure again when the machine is less busy"
	}
	return c
}

func replicas(s *report.LimitSeries, server Server) string {
	if s.Transport == "stdio" && server.Name != "" {
		return fmt.Sprintf("set mcpServers.%s.replicas: %d, if several instances may run at once", server.Name, server.Replicas+1)
	}
	return "make the server faster, or add a second address to its `url`"
}

// took returns the mean latency of calls without their time in the queue, or if that is unknown, their median latency.
func took(s report.LimitStep) float64 {
	if s.Served > 0 {
		return s.Served
	}
	return s.P50
}

// share returns the fraction of processor time that is used by all programs.
func share(c report.CPU) float64 {
	if c.Cores == 0 {
		return 0
	}
	return (ours(c) + c.Other) / c.Cores
}

// ours returns the processor time that the load caused.
func ours(c report.CPU) float64 { return c.Load + c.Gateway + c.Servers }

// words describes the use of the cores. gateway names what is between the load and the servers.
func words(c report.CPU, gateway string) string {
	if c.Cores == 0 {
		return "processor time is unknown on this system"
	}
	return fmt.Sprintf("of %.3g cores, the load generator uses %.1f, the %s %.1f, servers %.1f, other programs %.1f", c.Cores, c.Load, gateway, c.Gateway, c.Servers, c.Other)
}
