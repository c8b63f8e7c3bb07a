package status

import "slices"

// Sample is the state of a server's counters at one moment. Counters only grow, until the gateway ends.
type Sample struct {
	Server  string
	Serving bool // the server is configured and enabled
	Calls   uint64
	Errors  uint64              // calls whose outcome is not ok
	Buckets [BucketCount]uint64 // calls by duration
	In      uint64              // bytes received from the server
	Out     uint64              // bytes sent to the server
	Running int32
	Queued  int32
}

// Sample returns the counters of all servers in samples, which it overwrites and extends if necessary. It takes about 1 µs per server.
func (m *Metrics) Sample(samples []Sample) []Sample {
	samples = samples[:0]
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, s := range m.servers {
		samples = slices.Grow(samples, 1)
		samples = samples[:len(samples)+1]
		s.sample(&samples[len(samples)-1])
	}
	return samples
}

func (s *ServerMetrics) sample(to *Sample) {
	*to = Sample{Server: s.name, Serving: s.serving.Load(), In: s.bytes[In].Load(), Out: s.bytes[Out].Load(), Running: s.running.Load(), Queued: s.queued.Load()}
	for i := range s.methods {
		c := s.methods[i].Load()
		if c == nil {
			continue
		}
		for outcome := range c.outcomes {
			n := c.outcomes[outcome].Load()
			to.Calls += n
			if Outcome(outcome) != OutcomeOK {
				to.Errors += n
			}
		}
		for bucket := range c.seconds.counts {
			to.Buckets[bucket] += c.seconds.counts[bucket].Load()
		}
	}
}

// Serve records that the server is configured and enabled, or no longer is.
func (s *ServerMetrics) Serve(serving bool) { s.serving.Store(serving) }

// SetLoad records how many calls the server works on, and how many wait for a free slot. A nil receiver does nothing.
func (s *ServerMetrics) SetLoad(running, queued int) {
	if s == nil {
		return
	}
	if n := int32(running); s.running.Load() != n { // a load is cheaper than a store
		s.running.Store(n)
	}
	if n := int32(queued); s.queued.Load() != n {
		s.queued.Store(n)
	}
}
