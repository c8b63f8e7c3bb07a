package auth

import (
	"net/netip"
	"sync"
	"time"
)

// maxLogLines limits the refusals logged per second, of all networks and principals together. A client with many
// networks can stay below the limit of each.
const maxLogLines = 20

// logLimiter limits log lines per second. It is safe for concurrent use.
type logLimiter struct {
	mu     sync.Mutex
	second int64
	count  int
}

// allow reports whether one more line may be logged at the time now.
func (l *logLimiter) allow(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if second := now.Unix(); second != l.second {
		l.second, l.count = second, 0
	}
	l.count++
	return l.count <= maxLogLines
}

const (
	maxFailures   = 20          // maximum number of failures per network within failureWindow; further invalid credentials are answered with HTTP 429
	failureWindow = time.Minute // starts at the network's first failure
	maxNetworks   = 8192        // maximum number of networks to track
)

// failures counts, by network, the requests that are refused for their credential or because of a proxy. It is safe for
// concurrent use.
type failures struct {
	mu        sync.Mutex
	byNetwork map[netip.Prefix]*networkFailures
	swept     time.Time
	summary   summary
}

// networkFailures counts the failures of one network.
type networkFailures struct {
	since    time.Time // start of the window
	count    int       // failures within the window
	unlogged int       // failures that were not logged, from this and earlier windows
}

// failure is the result of counting one failure.
type failure struct {
	tooMany   bool
	remaining time.Duration // time until the window ends
	log       bool          // log this failure
}

// add counts one failure of an address. A failure beyond the network's limit, or one that mayLog rejects, is not
// logged immediately but counted for the next summary.
func (f *failures) add(now time.Time, from netip.Addr, mayLog func(now time.Time) bool) failure {
	network := networkOf(from)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byNetwork == nil {
		f.byNetwork = map[netip.Prefix]*networkFailures{}
	}
	one := f.byNetwork[network]
	switch {
	case one == nil:
		f.makeRoom(now)
		one = &networkFailures{since: now}
		f.byNetwork[network] = one
	case now.Sub(one.since) >= failureWindow:
		one.since, one.count = now, 0
	}
	one.count++
	tooMany := one.count > maxFailures
	log := !tooMany && mayLog(now)
	if !log {
		one.unlogged++
		f.scheduleSummary()
	}
	return failure{tooMany, failureWindow - now.Sub(one.since), log}
}

// makeRoom forgets expired windows, at most once a second, and evicts arbitrary networks if that does not free an entry.
func (f *failures) makeRoom(now time.Time) {
	if len(f.byNetwork) < maxNetworks {
		return
	}
	if now.Sub(f.swept) >= time.Second {
		f.swept = now
		for network, one := range f.byNetwork {
			if now.Sub(one.since) >= failureWindow {
				f.forget(network, one)
			}
		}
	}
	for network, one := range f.byNetwork {
		if len(f.byNetwork) < maxNetworks {
			return
		}
		f.forget(network, one)
	}
}

// forget drops a network. Its unlogged failures move to the summary's total for other networks.
func (f *failures) forget(network netip.Prefix, one *networkFailures) {
	delete(f.byNetwork, network)
	if one.unlogged > 0 {
		f.summary.rest.networks++
		f.summary.rest.count += one.unlogged
	}
}

// networkOf returns the prefix whose failures are counted together: a single IPv4 address, or the /64 of an IPv6
// address, which is the usual allocation to one customer.
func networkOf(a netip.Addr) netip.Prefix {
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, _ := a.WithZone("").Prefix(bits) // the zero Prefix for the zero Addr
	return p
}
