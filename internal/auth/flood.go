package auth

import (
	"cmp"
	"log/slog"
	"net/netip"
	"slices"
	"time"
)

const (
	floodLines = 20          // networks that the log hears of by themselves: those that have sent most
	floodPause = time.Minute // between two times that it hears of them
)

// flood is what the log has yet to hear in sums. failures owns it, with its lock.
type flood struct {
	log   *slog.Logger // nil = nobody reads it
	timer *time.Timer  // until it hears of them; nil = there is nothing to tell
	ended bool
	rest  struct{ networks, count int } // of networks that had to be forgotten meanwhile
}

// awaitSum has the log told when a minute is over. The caller has the lock.
func (f *failures) awaitSum() {
	if f.flood.log != nil && f.flood.timer == nil && !f.flood.ended {
		f.flood.timer = time.AfterFunc(floodPause, f.tellSum)
	}
}

// endSum tells what is left to be told. Nothing is told after it.
func (f *failures) endSum() {
	f.mu.Lock()
	f.flood.ended = true
	waits := f.flood.timer != nil && f.flood.timer.Stop()
	f.mu.Unlock()
	if waits {
		f.tellSum()
	}
}

// tellSum tells the log how many failures it has not heard of.
func (f *failures) tellSum() {
	untold, rest := f.takeSum()
	for i, one := range untold {
		if i < floodLines {
			f.flood.log.Warn("more clients were refused than the log was told of", "from", shownNetwork(one.network), "more", one.count)
			continue
		}
		rest.networks++
		rest.count += one.count
	}
	if rest.count > 0 {
		f.flood.log.Warn("more clients were refused than the log was told of", "from", "other networks", "networks", rest.networks, "more", rest.count)
	}
}

// untold are the failures of a network that the log has not heard of.
type untold struct {
	network netip.Prefix
	count   int
}

// takeSum returns what there is to tell, the most of one network first.
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

// shownNetwork is a network for people.
func shownNetwork(network netip.Prefix) string {
	switch {
	case !network.IsValid():
		return "stdio"
	case network.IsSingleIP():
		return network.Addr().String()
	}
	return network.String()
}
