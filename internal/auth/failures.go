package auth

import (
	"net/netip"
	"sync"
	"time"
)

// linesAllowed limits the refusals logged per second. A client with many networks causes only a few failures from each.
const linesAllowed = 20

// lines limits log lines per second. It is safe for concurrent use.
type lines struct {
	mu     sync.Mutex
	second int64
	count  int
}

// take reports whether one more line may be logged at the time now.
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
	failuresAllowed = 20          // per network within failureWindow; further ones are answered with HTTP 429
	failureWindow   = time.Minute // starts at the network's first failure
	maxNetworks     = 8192        // maximum number of networks to track
)

// failures counts refused credentials by network. It is safe for concurrent use.
type failures struct {
	mu    sync.Mutex
	of    map[netip.Prefix]*failed
	swept time.Time
	flood flood
}

// failed counts the failures of one network.
type failed struct {
	since  time.Time // start of the window
	count  int       // failures within the window
	untold int       // failures that were not logged, from this and earlier windows
}

// failure is the result of counting one failure.
type failure struct {
	tooMany bool
	left    time.Duration // until the window ends
	tell    bool          // log this failure
}

// add counts one failure of an address. A failure beyond the network's limit, or one that mayTell rejects, is not logged by itself but
// counted for the next summary.
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

// makeRoom forgets expired windows, at most once a second, and evicts arbitrary networks if that does not free an entry.
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

// forget drops a network. Its unlogged failures move to the summary's total for other networks.
func (f *failures) forget(network netip.Prefix, one *failed) {
	delete(f.of, network)
	if one.untold > 0 {
		f.flood.rest.networks++
		f.flood.rest.count += one.untold
	}
}

// networkOf returns the prefix whose failures are counted together: a single IPv4 address, or the /64 of an IPv6 address, which is
// what one customer gets.
func networkOf(a netip.Addr) netip.Prefix {
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, _ := a.WithZone("").Prefix(bits) // the zero Prefix for the zero Addr
	return p
}
