package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"goblin-actor/internal/status"
)

// Numbers of calls that the gateway stores for each server.
const (
	storedCalls    = 256
	storedFailures = 64
)

// outcomeOfCode returns the outcome of a call that ended with an error of the gateway.
func outcomeOfCode(code string) string {
	switch code {
	case "TIMEOUT", "QUEUE_TIMEOUT":
		return "timeout"
	case "SERVER_UNAVAILABLE", "NO_BACKENDS_AVAILABLE":
		return "unavailable"
	case "QUEUE_FULL", "OVERLOADED":
		return "queue_full"
	}
	return "failed"
}

// checkFinished compares the calls of each server that the nodes store with what clients know. No call may be in progress.
func (w *world) checkFinished(when string) {
	for _, n := range w.nodes {
		if w.failed() {
			return
		}
		n.checkFinished(when)
	}
}

func (n *node) checkFinished(when string) {
	stored := map[string][]status.FinishedCall{}
	ids, last := map[string]bool{}, uint64(0)
	for _, f := range n.gateway.Metrics().Finished("", 0) {
		if f.Number <= last || f.ID != "" && ids[f.ID] {
			n.violated("%s: the finished call %d after %d is stored twice, or out of order: %+v", when, f.Number, last, f)
		}
		last, ids[f.ID] = f.Number, true
		n.checkFacts(when, &f)
		if f.Server != "" {
			stored[f.Server] = append(stored[f.Server], f)
		}
	}
	for _, s := range n.gateway.Metrics().Sample(nil) {
		n.checkStored(when, &s, stored[s.Server])
	}
	n.w.count("finished calls compared")
}

// checkFacts checks that the facts of a stored call agree with each other.
func (n *node) checkFacts(when string, f *status.FinishedCall) {
	want := ""
	switch {
	case f.Outcome == outcomeOK || f.Outcome == outcomeCanceled:
	case f.Code == "" || f.Error == "":
		want = "an error"
	case f.Error == toolError:
		want = outcomeError
	default:
		want = outcomeOfCode(f.Code)
	}
	if (want == "") != (f.Code+f.Error == "") || want != "" && want != f.Outcome {
		n.violated("%s: the finished call %d has outcome %s and error %s %q", when, f.Number, f.Outcome, f.Code, f.Error)
	}
	at := f.Began
	for _, next := range []time.Time{f.Taken, f.Written, f.Answered, endOf(f).Add(time.Microsecond)} {
		if next.IsZero() {
			continue
		}
		if next.Before(at) {
			n.violated("%s: the times of the finished call %d are out of order: %+v", when, f.Number, f)
		}
		at = next
	}
}

func endOf(f *status.FinishedCall) time.Time {
	return f.Began.Add(time.Duration(f.Seconds * 1e9))
}

// checkStored checks the stored calls of a server, in the order of their ends: the last storedCalls calls and the last
// storedFailures failed ones must be there, and no others.
func (n *node) checkStored(when string, s *status.Sample, all []status.FinishedCall) {
	newest := all[len(all)-min(len(all), storedCalls):]
	var failed []status.FinishedCall
	for _, f := range all {
		if f.Failed() {
			failed = append(failed, f)
		}
	}
	older := len(all) - len(newest)
	olderFailed := len(failed) - countFailed(newest)
	if len(newest) != int(min(s.Calls, storedCalls)) || len(failed) < int(min(s.Errors, storedFailures)) || older != olderFailed || older > storedFailures {
		n.violated("%s: of %d calls of %s, %d of which failed, %d are stored, %d of which failed; %d of them are not among the newest, %d of which failed",
			when, s.Calls, s.Server, s.Errors, len(all), len(failed), older, olderFailed)
		return
	}
	n.compareCalls(when, s.Server, newest, s.Calls > storedCalls, false)
	n.compareCalls(when, s.Server, failed[len(failed)-min(len(failed), storedFailures):], s.Errors > storedFailures, true)
	if s.Calls > 2*storedCalls && older > 0 {
		n.w.count("a failed call that outlasted successful ones")
	}
}

func countFailed(all []status.FinishedCall) (n int) {
	for i := range all {
		if all[i].Failed() {
			n++
		}
	}
	return n
}

// compareCalls compares the last calls of a server, or its last failed calls, with what clients know. If they are not all, it ignores calls
// that began before the first of them ended: those may have been displaced.
func (n *node) compareCalls(when, server string, calls []status.FinishedCall, displaced, onlyFailed bool) {
	var since time.Time
	if displaced {
		since = endOf(&calls[0]).Add(time.Microsecond)
	}
	got := map[callKey]int{}
	for i := range calls {
		if f := &calls[i]; f.Began.After(since) && f.Who != intruderName {
			got[keyOf(f)]++
		}
	}
	book := n.w.history.calls(n.w, n, since)
	var wrong []string
	for k, n := range book.least {
		if k.server == server && got[k] < n && !(onlyFailed && k.outcome == outcomeOK) {
			wrong = append(wrong, fmt.Sprintf("%d are %+v; clients know of %d", got[k], k, n))
		}
	}
	for k, n := range got {
		if most := book.most[k] + book.unsure[k.unknown()]; n > most {
			wrong = append(wrong, fmt.Sprintf("%d are %+v; clients sent %d such requests at most", n, k, most))
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong) // maps have a random order
		n.violated("%s: of the finished calls of %s since %v, %s", when, server, since, strings.Join(wrong, "; "))
	}
}

// keyOf returns what a client knows of a finished call.
func keyOf(f *status.FinishedCall) callKey {
	k := callKey{strings.TrimSuffix(f.Client, " 1"), f.Who, f.Server, f.Method, ownURI(f.Public), f.Outcome}
	if f.Outcome != outcomeError {
		k.outcome = cmp.Or(f.Code, f.Outcome)
	}
	return k.anyServer()
}
