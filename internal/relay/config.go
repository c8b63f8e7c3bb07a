package relay

import (
	"crypto/tls"
	"sync"
)

// derived keeps a changed copy of the nodes' TLS configuration, which connections share. It makes a new copy when the configuration was
// replaced.
type derived struct {
	of     func() *tls.Config
	change func(*tls.Config)

	mu        sync.Mutex
	last, now *tls.Config
}

func (d *derived) get() *tls.Config {
	d.mu.Lock()
	defer d.mu.Unlock()
	if current := d.of(); current != d.last {
		d.last, d.now = current, current.Clone()
		d.change(d.now)
	}
	return d.now
}

func (d *derived) forClient(*tls.ClientHelloInfo) (*tls.Config, error) { return d.get(), nil }
