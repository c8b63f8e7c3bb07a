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
}

type failed struct {
	since time.Time
	count int
}

// add counts one of an address and returns how many its network has had, and how long they count.
func (f *failures) add(now time.Time, from netip.Addr) (count int, left time.Duration) {
	network := networkOf(from)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[netip.Prefix]*failed{}
	}
	one := f.of[network]
	if one == nil || now.Sub(one.since) >= failureWindow {
		if one == nil {
			f.makeRoom(now)
		}
		one = &failed{since: now}
		f.of[network] = one
	}
	one.count++
	return one.count, failureWindow - now.Sub(one.since)
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
				delete(f.of, network)
			}
		}
	}
	for network := range f.of {
		if len(f.of) < maxNetworks {
			return
		}
		delete(f.of, network)
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
