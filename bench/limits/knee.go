package limits

import (
	"slices"
	"time"

	"goblin-actor/bench/report"
)

const (
	growth   = 1.05 // minimum increase of throughput that counts as growth
	nearBest = 0.9  // fraction of the best throughput from which a step is equally good; the difference is noise
	wrong    = 0.01 // tolerated fraction of failed calls
)

// knee is the result of a climb: the step that findKnee or findHeld chose, and why the climb ended.
type knee struct {
	at    int    // index of the step; -1 = not even the first step was good
	ended string // plateau: throughput stopped growing; p99, errors: a limit was exceeded; falls: throughput fell, or was below the offered rate; max: none of these
}

// good reports whether a step is within the limits. limit is the maximum p99 latency; 0 = none.
func good(s report.LimitStep, limit time.Duration) bool {
	return s.Calls > 0 && !slow(s, limit) && float64(s.Failures()) <= wrong*float64(s.Calls)
}

func slow(s report.LimitStep, limit time.Duration) bool {
	return limit > 0 && s.P99 > float64(limit.Microseconds())
}

// climbed returns the steps up to the last good one, and why the step after it was bad: "errors", "p99", or "" if there
// is no such step. A bad step between good ones is ignored as noise.
func climbed(steps []report.LimitStep, limit time.Duration) (up []report.LimitStep, failed string) {
	last := len(steps) - 1
	for last >= 0 && !good(steps[last], limit) {
		last--
	}
	if last+1 == len(steps) {
		return steps, ""
	}
	// A step with failed calls is often slow as well. The failures are more informative.
	if bad := steps[last+1]; bad.Calls == 0 || float64(bad.Failures()) > wrong*float64(bad.Calls) {
		return steps[:last+1], "errors"
	}
	return steps[:last+1], "p99"
}

// findKnee returns the knee of steps, which are sorted by clients: the step with the fewest clients that reach about the
// best throughput within the limits.
func findKnee(steps []report.LimitStep, limit time.Duration) knee {
	up, failed := climbed(steps, limit)
	best := 0.0
	for _, s := range up {
		if good(s, limit) {
			best = max(best, s.PerSecond)
		}
	}
	at := -1
	for i, s := range up {
		if good(s, limit) && s.PerSecond >= nearBest*best {
			at = i
			break
		}
	}
	switch {
	case failed != "" && at == len(up)-1: // throughput grew up to this step
		return knee{at, failed}
	case failed == "" && (at == len(up)-1 || !flat(up)):
		return knee{at, "max"}
	}
	return knee{at, "plateau"}
}

// flat reports whether neither of the last two steps raised throughput by at least 5 % (growth) over the best earlier
// step. With fewer than three steps it returns false.
func flat(steps []report.LimitStep) bool {
	if len(steps) < 3 {
		return false
	}
	before, after := 0.0, 0.0
	for i, s := range steps {
		if i < len(steps)-2 {
			before = max(before, s.PerSecond)
		} else {
			after = max(after, s.PerSecond)
		}
	}
	return after < growth*before
}

// nextClients returns the next number of clients to measure. It doubles the number until a limit is exceeded or
// throughput stops growing. After a bad step, it returns values between the last good step and the first bad one.
func nextClients(steps []report.LimitStep, limit time.Duration, most int) (clients int, more bool) {
	if len(steps) == 0 {
		return 1, true
	}
	up, failed := climbed(steps, limit)
	if flat(up) || len(up) == 0 {
		return 0, false
	}
	last := steps[len(steps)-1].Clients
	if failed == "" {
		return min(2*last, most), last < most
	}
	low, high := up[len(up)-1].Clients, steps[len(up)].Clients
	middle := (low + high) / 2
	return middle, 4*(high-low) > low && middle > low // the interval is narrowed to a quarter of low, which is the level of noise
}

// again looks for a step that was measured only once, from the knee on, and returns its number of clients. Background load
// can end a climb too early, so these steps are measured twice.
func again(steps []report.LimitStep, limit time.Duration) (clients int, more bool) {
	k := findKnee(steps, limit)
	for _, s := range steps[max(k.at, 0):] {
		if s.Tries < 2 {
			return s.Clients, true
		}
	}
	return 0, false
}

// with returns the steps with s added, sorted by clients. If a step with the same number of clients exists, only the
// better one is kept.
func with(steps []report.LimitStep, s report.LimitStep) []report.LimitStep {
	at, found := slices.BinarySearchFunc(steps, s.Clients, func(s report.LimitStep, n int) int { return s.Clients - n })
	if !found {
		return slices.Insert(steps, at, s)
	}
	tries := steps[at].Tries + 1
	if old := steps[at]; s.Failures() < old.Failures() || s.Failures() == old.Failures() && s.PerSecond > old.PerSecond {
		steps[at] = s
	}
	steps[at].Tries = tries
	return steps
}
