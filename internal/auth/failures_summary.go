package auth

import (
	"cmp"
	"log/slog"
	"net/netip"
	"slices"
	"time"
)

const (
	summaryNetworks = 20          // networks that get a line of their own: those with the most failures
	summaryInterval = time.Minute // time from an unlogged failure to its summary
)

// summary holds the state of the next summary of unlogged failures. failures owns it and guards it with its mutex.
type summary struct {
	log   *slog.Logger // nil = log nothing
	timer *time.Timer  // logs the summary; nil = there is nothing to log
	ended bool
	rest  struct{ networks, count int } // unlogged failures of evicted networks
}

// scheduleSummary schedules a summary in summaryInterval unless one is scheduled. The caller must hold mu.
func (f *failures) scheduleSummary() {
	if f.summary.log != nil && f.summary.timer == nil && !f.summary.ended {
		f.summary.timer = time.AfterFunc(summaryInterval, f.logSummary)
	}
}

// closeSummary logs the pending summary. No summary is logged afterward.
func (f *failures) closeSummary() {
	f.mu.Lock()
	f.summary.ended = true
	waits := f.summary.timer != nil && f.summary.timer.Stop()
	f.mu.Unlock()
	if waits {
		f.logSummary()
	}
}

// logSummary logs how many failures were not logged individually.
func (f *failures) logSummary() {
	unlogged, rest := f.takeSummary()
	for i, one := range unlogged {
		if i < summaryNetworks {
			f.summary.log.Warn("further refused requests were not logged individually", "from", networkText(one.network), "more", one.count)
			continue
		}
		rest.networks++
		rest.count += one.count
	}
	if rest.count > 0 {
		f.summary.log.Warn("further refused requests were not logged individually", "from", "other networks", "networks", rest.networks, "more", rest.count)
	}
}

// unlogged counts the unlogged failures of a network.
type unlogged struct {
	network netip.Prefix
	count   int
}

// takeSummary returns and resets the unlogged failures, the largest count first.
func (f *failures) takeSummary() (all []unlogged, rest struct{ networks, count int }) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for network, one := range f.byNetwork {
		if one.unlogged > 0 {
			all = append(all, unlogged{network, one.unlogged})
			one.unlogged = 0
		}
	}
	rest = f.summary.rest
	f.summary.timer, f.summary.rest.networks, f.summary.rest.count = nil, 0, 0
	slices.SortFunc(all, func(a, b unlogged) int {
		return cmp.Or(b.count-a.count, a.network.Addr().Compare(b.network.Addr()))
	})
	return all, rest
}

// networkText formats a network for the log.
func networkText(network netip.Prefix) string {
	switch {
	case !network.IsValid():
		return "stdio"
	case network.IsSingleIP():
		return network.Addr().String()
	}
	return network.String()
}
