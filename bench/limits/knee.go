package limits

import (
	"slices"
	"time"

	"goblin-actor/bench/report"
)

const (
	growth   = 1.05 // a step that brings less more than those before it has brought nothing
	nearBest = 0.9  // what is this near to the best throughput is as good; noise between steps is about that
	wrong    = 0.01 // share of calls that may fail; one of a few is no limit yet
)

// knee is what a climb comes to: the fewest clients that bring about the best throughput there is within the limits.
type knee struct {
	at    int    // index among the steps; -1 = not even one client got through well
	ended string // plateau: more clients bring nothing; p99, errors: the limit is passed; max: it still grows
}

// good tells whether a step is within the limits; limit 0 = none.
func good(s report.LimitStep, limit time.Duration) bool {
	return s.Calls > 0 && !slow(s, limit) && float64(s.Failures()) <= wrong*float64(s.Calls)
}

func slow(s report.LimitStep, limit time.Duration) bool {
	return limit > 0 && s.P99 > float64(limit.Microseconds())
}

// climbed are the steps up to the last good one, and how the first behind it failed; "" = there is none. A bad step between good ones is noise.
func climbed(steps []report.LimitStep, limit time.Duration) (up []report.LimitStep, failed string) {
	last := len(steps) - 1
	for last >= 0 && !good(steps[last], limit) {
		last--
	}
	if last+1 == len(steps) {
		return steps, ""
	}
	// A step whose calls fail is often slow as well; then the failures say more.
	if bad := steps[last+1]; bad.Calls == 0 || float64(bad.Failures()) > wrong*float64(bad.Calls) {
		return steps[:last+1], "errors"
	}
	return steps[:last+1], "p99"
}

// findKnee returns the knee of steps, which are in the order of their clients.
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
	case failed != "" && at == len(up)-1: // throughput grew until then
		return knee{at, failed}
	case failed == "" && (at == len(up)-1 || !flat(up)):
		return knee{at, "max"}
	}
	return knee{at, "plateau"}
}

// flat tells whether the last two steps brought no more than those before them.
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

// nextClients returns how many clients to try next: twice as many until a limit is passed or throughput no longer grows, then
// between the last good step and the first bad one.
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
	return middle, 4*(high-low) > low && middle > low // to a quarter: noise is no less
}

// again returns the clients of a step that ended the climb and was measured once only: what else a machine does looks like an end,
// and only what comes out twice is one.
func again(steps []report.LimitStep, limit time.Duration) (clients int, more bool) {
	k := findKnee(steps, limit)
	for _, s := range steps[max(k.at, 0):] {
		if s.Tries < 2 {
			return s.Clients, true
		}
	}
	return 0, false
}

// with returns the steps with one more, in the order of their clients. Of two with as many clients the better one stays.
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
