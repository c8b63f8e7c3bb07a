package auth

import (
	"cmp"
	"log/slog"
	"net/netip"
	"slices"
	"time"
)

const (
	floodLines = 20          // networks that get a line of their own: those with the most failures
	floodPause = time.Minute // from an unlogged failure to its summary
)

// flood holds the state of the next summary of unlogged failures. failures owns it and guards it with its mutex.
type flood struct {
	log   *slog.Logger // nil = log nothing
	timer *time.Timer  // logs the summary; nil = there is nothing to log
	ended bool
	rest  struct{ networks, count int } // unlogged failures of evicted networks
}

// awaitSum schedules a summary in floodPause unless one is scheduled. The caller must hold mu.
func (f *failures) awaitSum() {
	if f.flood.log != nil && f.flood.timer == nil && !f.flood.ended {
		f.flood.timer = time.AfterFunc(floodPause, f.tellSum)
	}
}

// endSum logs the pending summary. No summary is logged afterward.
func (f *failures) endSum() {
	f.mu.Lock()
	f.flood.ended = true
	waits := f.flood.timer != nil && f.flood.timer.Stop()
	f.mu.Unlock()
	if waits {
		f.tellSum()
	}
}

// tellSum logs how many failures were not logged by themselves.
func (f *failures) tellSum() {
	untold, rest := f.takeSum()
	for i, one := range untold {
		if i < floodLines {
			f.flood.log.Warn("further refusals of clients were not logged", "from", shownNetwork(one.network), "more", one.count)
			continue
		}
		rest.networks++
		rest.count += one.count
	}
	if rest.count > 0 {
		f.flood.log.Warn("further refusals of clients were not logged", "from", "other networks", "networks", rest.networks, "more", rest.count)
	}
}

// untold counts the unlogged failures of a network.
type untold struct {
	network netip.Prefix
	count   int
}

// takeSum returns and resets the unlogged failures, the largest count first.
func (f *failures) takeSum() (all []untold, rest struct{ networks, count int }) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for network, one := range f.of {
		if one.untold > 0 {
			all = append(all, untold{network, one.untold})
			one.untold = 0
		}
	}
	rest = f.flood.rest
	f.flood.timer, f.flood.rest.networks, f.flood.rest.count = nil, 0, 0
	slices.SortFunc(all, func(a, b untold) int {
		return cmp.Or(b.count-a.count, a.network.Addr().Compare(b.network.Addr()))
	})
	return all, rest
}

// shownNetwork formats a network for the log.
func shownNetwork(network netip.Prefix) string {
	switch {
	case !network.IsValid():
		return "stdio"
	case network.IsSingleIP():
		return network.Addr().String()
	}
	return network.String()
}
