package relay

import (
	"crypto/tls"
	"sync"
)

// derived makes a variant of the nodes' TLS configuration, once for each value of it. Connections share the variant.
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
