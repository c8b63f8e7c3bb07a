package auth

import (
	"net/netip"
	"sync"
	"time"
)

// linesAllowed is how many refusals a second the log hears of: who has many networks has a few failures of each.
const linesAllowed = 20

// lines counts lines of the log. Safe from any goroutine.
type lines struct {
	mu     sync.Mutex
	second int64
	count  int
}

// take reports whether there may be one more.
func (l *lines) take(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if second := now.Unix(); second != l.second {
		l.second, l.count = second, 0
	}
	l.count++
	return l.count <= linesAllowed
}

const (
	failuresAllowed = 20          // of one network in failureWindow; more are answered with 429
	failureWindow   = time.Minute // from the first of them
	maxNetworks     = 8192        // that are remembered
)

// failures counts refused credentials by network. Safe from any goroutine.
type failures struct {
	mu    sync.Mutex
	of    map[netip.Prefix]*failed
	swept time.Time
	flood flood
}

type failed struct {
	since  time.Time
	count  int
	untold int // of them, and of those before, that the log has not heard of
}

// failure is one more of a network.
type failure struct {
	tooMany bool
	left    time.Duration // until they do not count any more
	tell    bool          // the log is to hear of it
}

// add counts one of an address. What the log does not hear of, for there are many of this network or, by mayTell, of all, it is told of in a sum.
func (f *failures) add(now time.Time, from netip.Addr, mayTell func(now time.Time) bool) failure {
	network := networkOf(from)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[netip.Prefix]*failed{}
	}
	one := f.of[network]
	switch {
	case one == nil:
		f.makeRoom(now)
		one = &failed{since: now}
		f.of[network] = one
	case now.Sub(one.since) >= failureWindow:
		one.since, one.count = now, 0
	}
	one.count++
	tooMany := one.count > failuresAllowed
	told := !tooMany && mayTell(now)
	if !told {
		one.untold++
		f.awaitSum()
	}
	return failure{tooMany, failureWindow - now.Sub(one.since), told}
}

// makeRoom forgets what does not count any more, at most once a second, and somebody when that is not enough.
func (f *failures) makeRoom(now time.Time) {
	if len(f.of) < maxNetworks {
		return
	}
	if now.Sub(f.swept) >= time.Second {
		f.swept = now
		for network, one := range f.of {
			if now.Sub(one.since) >= failureWindow {
				f.forget(network, one)
			}
		}
	}
	for network, one := range f.of {
		if len(f.of) < maxNetworks {
			return
		}
		f.forget(network, one)
	}
}

// forget lets go of a network. What the log has not heard of it counts among the rest.
func (f *failures) forget(network netip.Prefix, one *failed) {
	delete(f.of, network)
	if one.untold > 0 {
		f.flood.rest.networks++
		f.flood.rest.count += one.untold
	}
}

// networkOf is whose failures are counted together: one address, or of version 6 the 64 bits that one customer has.
func networkOf(a netip.Addr) netip.Prefix {
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, _ := a.WithZone("").Prefix(bits) // the zero value for the zero value
	return p
}
