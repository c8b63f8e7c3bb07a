package limits

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"goblin-actor/bench/report"
)

// full is the share of the processors from which on they are what everybody waits for.
const full = 0.88

// explain says in words what holds the series at its knee, and which key to change.
func explain(s *report.LimitSeries, server Server, limit time.Duration) {
	c := causeOf(s, server)
	s.Bottleneck, s.Why, s.Change = c.what, c.why, c.change
	switch {
	case s.Ended == "max" && s.Raise != "clients" && s.Bottleneck != "not reached":
		s.Why = "It held to the end. What was nearest to its limit: " + s.Why
	case s.Ended == "max" && s.Raise == "clients", s.Ended == "time":
		s.Why = "It still grew when the run ended. So far: " + s.Why
	case s.Ended == "falls" && s.Raise != "rate":
		s.Why = "With more " + s.Raise + " calls become slower. " + s.Why
	}
	if s.Ended == "p99" {
		s.Why = fmt.Sprintf("More %s pass --p99 %s. %s", map[bool]string{true: "calls a second", false: s.Raise}[s.Raise == "rate"], limit, s.Why)
	}
}

// cause is what holds a climb.
type cause struct{ what, why, change string }

// causeOf looks at the step behind the knee, where whatever is scarce is used up; without one at the knee.
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
	// The places hold the climb if it did not end before all of them were taken, and those who came later spent their time in the queue.
	last := at
	for _, step := range s.Steps {
		if good(step, 0) && step.Clients >= at.Clients { // what is refused does not wait
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
		return cause{"queue", fmt.Sprintf("%d calls waited in the gateway while %d were with the server.", at.Queued, at.InFlight),
			"mcpServers.<server>.maxConcurrent of that gateway, if the server can do more at once"}
	}
	return waiting(s, at, server)
}

// queued is the cause of a climb that ended where calls began to wait for a place.
func queued(at report.LimitStep, server Server, slots int, key string) cause {
	c := cause{key, fmt.Sprintf("%s lets %s have %d at once; with %d clients a call took %s, of which it waited %s in the queue.",
		key, server.Name, slots, at.Clients, report.FormatMicros(at.P50), report.FormatMicros(min(at.Waited, at.P50))),
		fmt.Sprintf("raise mcpServers.%s.%s, if the server can do more at once", server.Name, key)}
	if share(at.CPU) >= full && ours(at.CPU) > .4*at.CPU.Cores {
		c.why += " The processors are nearly used up as well (" + words(at.CPU, server.gateway()) + "), so more of it may bring little on this machine."
	}
	return c
}

// refusal is the cause of calls that were not answered with a result.
func refusal(at report.LimitStep, server Server) cause {
	if at.Crossed+at.Lost > 0 {
		return cause{"answers", fmt.Sprintf("With %s %d answers were lost and %d came to the wrong request.", report.FormatClients(at.Clients), at.Lost, at.Crossed), ""}
	}
	name, most := "none", 0
	for _, n := range slices.Sorted(maps.Keys(at.Refused)) {
		if at.Refused[n] > most {
			name, most = n, at.Refused[n]
		}
	}
	c := cause{"errors", fmt.Sprintf("With %s %d of %d calls failed, most with %s.", report.FormatClients(at.Clients), at.Failures(), at.Calls+at.Failures(), name), ""}
	if at.Refused == nil {
		c.why = fmt.Sprintf("With %s no call passed.", report.FormatClients(at.Clients))
	}
	c.change = remedy(name, server)
	return c
}

// remedy is what to change about calls that end with an error of that name.
func remedy(name string, server Server) string {
	of := "mcpServers." + server.Name + "."
	for _, r := range []struct{ begins, change string }{ // the first that fits
		{"QUEUE_FULL (maxConcurrent)", "a number for " + of + "maxConcurrent, some hundreds at most, has more calls wait in the queue instead of being refused; more at once take replicas"},
		{"QUEUE_FULL", "raise " + of + "queue.size, or " + of + "maxConcurrent if the server can do more at once"},
		{"QUEUE_TIMEOUT", "raise " + of + "maxConcurrent if the server can do more at once, else " + of + "queue.timeout"},
		{"TIMEOUT", "raise " + of + "timeout, or lower " + of + "maxConcurrent so that fewer are with the server at once"},
		{"OVERLOADED (limits.maxInFlightPerClient)", "raise limits.maxInFlightPerClient, if so many will come from one address: modern clients of one address count as one, as all of this run do"},
		{"OVERLOADED (", "raise " + strings.TrimSuffix(strings.TrimPrefix(name, "OVERLOADED ("), ")")},
		{"OVERLOADED", "no key: of one address a gateway takes in only so much at once, and all of this run came from one"},
		{"HTTP 503", "raise limits.maxSessions"},
		{"RATE_LIMITED", "raise the rate limit of these clients"},
	} {
		if strings.HasPrefix(name, r.begins) {
			return r.change
		}
	}
	return ""
}

// busy is the cause where a processor is what everybody waits for.
func busy(at report.LimitStep, server Server, transport string) (cause, bool) {
	cpu := at.CPU
	if share(cpu) < full || ours(cpu) < .25*cpu.Cores { // who is full of others' work does not tell that ours waits for them
		if cpu.Busiest < full {
			return cause{}, false
		}
		c := cause{"server CPU", fmt.Sprintf("A process of %s keeps a core busy (%.0f %%) while others are free: it does one thing at a time.", server.Name, 100*cpu.Busiest), ""}
		if transport == "stdio" {
			c.change = fmt.Sprintf("mcpServers.%s.replicas: %d, if several of it may run side by side", server.Name, server.Replicas+1)
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
	c := cause{what, "The processors are used up: " + words(cpu, server.gateway()) + ".", "no key: it takes more cores"}
	switch what {
	case "load generator CPU":
		c.change = "no key: run the load from another machine (--target), or give it more cores"
	case "other programs":
		c.change = "no key: measure again when the machine is less busy"
	}
	return c, true
}

// waiting is the cause where neither processor nor queue is used up: whoever answers slower the more are asking.
func waiting(s *report.LimitSeries, at report.LimitStep, server Server) cause {
	name := server.Name
	if n := len(s.Direct); n > 0 && s.Direct[n-1].Clients >= s.Knee.Clients && s.Direct[n-1].PerSecond < 1.15*s.Knee.PerSecond {
		d := s.Direct[n-1]
		return cause{"server", fmt.Sprintf("Asked directly by %s, %s carries no more: %.0f calls/s, p50 %s.", report.FormatClients(d.Clients), name, d.PerSecond, report.FormatMicros(d.P50)), replicas(s, server)}
	}
	first := s.Steps[0]
	if now, alone := took(at), took(first); alone > 0 && now > 1.5*alone && at.Clients > first.Clients { // so not where something else than clients is raised
		c := cause{"server", fmt.Sprintf("A call to %s takes %s with %d clients and %s with one, and no processor is used up: it does only so much at once, or waits for something.",
			name, report.FormatMicros(now), at.Clients, report.FormatMicros(alone)), replicas(s, server)}
		if share(at.CPU) >= full {
			c.why = fmt.Sprintf("A call to %s takes %s with %d clients and %s with one. It does only so much at once, or other programs, which have %.1f of %.3g cores, keep it waiting: measure again when they do not.",
				name, report.FormatMicros(now), at.Clients, report.FormatMicros(alone), at.CPU.Other, at.CPU.Cores)
		}
		return c
	}
	c := cause{"not reached", fmt.Sprintf("Nothing that was looked at is used up: %s, and no call waits in a queue.", words(at.CPU, server.gateway())), ""}
	if at.CPU.Other > at.CPU.Cores/2 {
		c.change = "no key: measure again when the machine is less busy"
	}
	return c
}

func replicas(s *report.LimitSeries, server Server) string {
	if s.Transport == "stdio" && server.Name != "" {
		return fmt.Sprintf("mcpServers.%s.replicas: %d, if several of it may run side by side", server.Name, server.Replicas+1)
	}
	return "no key of the gateway: the server has to become faster, or get a second URL"
}

// took is how long a call took where it was not queued, as far as it is known.
func took(s report.LimitStep) float64 {
	if s.Served > 0 {
		return s.Served
	}
	return s.P50
}

// share is how much of the processors is used.
func share(c report.CPU) float64 {
	if c.Cores == 0 {
		return 0
	}
	return (ours(c) + c.Other) / c.Cores
}

// ours is what is busy for the load.
func ours(c report.CPU) float64 { return c.Load + c.Gateway + c.Servers }

// words divides the cores; gateway is what stands between the load and the servers.
func words(c report.CPU, gateway string) string {
	if c.Cores == 0 {
		return "processor time is not known here"
	}
	return fmt.Sprintf("of %.3g cores the load generator has %.1f, the %s %.1f, servers %.1f, other programs %.1f", c.Cores, c.Load, gateway, c.Gateway, c.Servers, c.Other)
}
