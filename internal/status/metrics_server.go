package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"goblin-actor/protocol"
)

// Outcome is how a call ended for its caller.
type Outcome uint8

// Outcomes of calls. outcomeNames holds their labels in /metrics.
const (
	OutcomeOK          Outcome = iota // a result
	OutcomeError                      // the server's own JSON-RPC error
	OutcomeToolError                  // a result with isError
	OutcomeTimeout                    // error TIMEOUT or QUEUE_TIMEOUT
	OutcomeCancelled                  // canceled by the client, or the client disconnected
	OutcomeUnavailable                // error SERVER_UNAVAILABLE or NO_BACKENDS_AVAILABLE: nothing was sent
	OutcomeQueueFull                  // error QUEUE_FULL or OVERLOADED: nothing was sent
	OutcomeFailed                     // any other gateway error: disconnected, shutting down …
	outcomes           = iota
)

var outcomeNames = [outcomes]string{"ok", "error", "tool_error", "timeout", "cancelled", "unavailable", "queue_full", "failed"}

// String returns the metric label.
func (o Outcome) String() string { return outcomeNames[o] }

// ServerMetrics holds the counters of one server. It is safe for concurrent use and never blocks.
type ServerMetrics struct {
	name      string
	all       *Metrics
	methods   [maxMethods]atomic.Pointer[methodCounts] // nil until the first call
	bytes     [directions]atomic.Uint64                // of messages
	running   atomic.Int32                             // see SetLoad
	queued    atomic.Int32
	serving   atomic.Bool // see Serve
	queueWait histogram
	near      [maxMethods]hint
	denied    denials
	finished  finished

	mu    sync.RWMutex
	reads map[readKey]*atomic.Uint64
	types map[string]bool // MIME types with their own label

	items      map[itemKey]*ItemCounters
	toolLabels int                              // labelled tools
	rest       [protocol.ItemKinds]ItemCounters // not guarded by mu
}

// methodCounts counts the calls of one method.
type methodCounts struct {
	outcomes [outcomes]atomic.Uint64
	seconds  histogram
}

// of returns the counters of a method.
func (s *ServerMetrics) of(method protocol.Method) *methodCounts {
	p := &s.methods[bounded(method)]
	if c := p.Load(); c != nil {
		return c
	}
	p.CompareAndSwap(nil, new(methodCounts))
	return p.Load()
}

type readKey struct {
	mimeType string // label
	ok       bool
}

// Call counts a finished call and its duration from arrival to answer. It takes no lock.
func (s *ServerMetrics) Call(method protocol.Method, outcome Outcome, seconds float64) {
	c := s.of(method)
	c.outcomes[outcome].Add(1)
	c.seconds.observe(seconds)
}

// Bytes counts n bytes of messages received from or sent to the server. A nil receiver counts nothing.
func (s *ServerMetrics) Bytes(direction Direction, n int) {
	if s != nil {
		s.bytes[direction].Add(uint64(n))
	}
}

// QueueWait records how long a call waited in the queue.
func (s *ServerMetrics) QueueWait(seconds float64) { s.queueWait.observe(seconds) }

// Read counts a resources/read. mimeType is the type of its first content, or "" if there is none.
func (s *ServerMetrics) Read(mimeType string, ok bool) {
	key := readKey{plainType(mimeType), ok}
	s.mu.RLock()
	n := s.reads[key]
	s.mu.RUnlock()
	if n == nil {
		n = s.newRead(key)
	}
	n.Add(1)
}

// newRead returns the counter for a key and creates it if necessary. A new MIME type beyond maxMIMETypes is counted as
// other.
func (s *ServerMetrics) newRead(key readKey) *atomic.Uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key.mimeType != "" && key.mimeType != other && !s.types[key.mimeType] {
		if len(s.types) >= maxMIMETypes {
			key.mimeType = other
		} else {
			s.types[key.mimeType] = true
		}
	}
	n := s.reads[key]
	if n == nil {
		n = new(atomic.Uint64)
		s.reads[key] = n
	}
	return n
}

func writeCalls(p *page, servers []*ServerMetrics) {
	p.family("goblin_calls_total")
	for _, s := range servers {
		for method := range s.methods {
			c := s.methods[method].Load()
			for outcome := 0; c != nil && outcome < outcomes; outcome++ {
				if n := c.outcomes[outcome].Load(); n > 0 {
					fmt.Fprintf(p, "goblin_calls_total{server=%q,method=%q,outcome=%q} %d\n",
						s.name, methodLabel(protocol.Method(method)), outcomeNames[outcome], n)
				}
			}
		}
	}
	p.family("goblin_call_seconds")
	for _, s := range servers {
		for method := range s.methods {
			if c := s.methods[method].Load(); c != nil {
				labels := fmt.Sprintf("server=%q,method=%q", s.name, methodLabel(protocol.Method(method)))
				c.seconds.write(p, "goblin_call_seconds", labels)
			}
		}
	}
}

func writeQueueWaits(p *page, servers []*ServerMetrics) {
	p.family("goblin_queue_wait_seconds")
	for _, s := range servers {
		s.queueWait.write(p, "goblin_queue_wait_seconds", fmt.Sprintf("server=%q", s.name))
	}
}

// writeReads writes the reads under two names: one in the style of Prometheus, and the camel-case name in the requirements
// (S0.10.1).
func writeReads(p *page, servers []*ServerMetrics) {
	p.family("goblin_resource_reads_total")
	writeReadSamples(p, servers, "goblin_resource_reads_total{server=%q,mime_type=%q,status=%q} %d\n")
	p.family("mcpResourceReadsTotal")
	writeReadSamples(p, servers, "mcpResourceReadsTotal{serverId=%q,mimeType=%q,status=%q} %d\n")
}

func writeReadSamples(p *page, servers []*ServerMetrics, format string) {
	for _, s := range servers {
		s.mu.RLock()
		keys := make([]readKey, 0, len(s.reads))
		for key := range s.reads {
			keys = append(keys, key)
		}
		slices.SortFunc(keys, func(x, y readKey) int {
			return cmp.Or(strings.Compare(x.mimeType, y.mimeType), strings.Compare(readStatus(y.ok), readStatus(x.ok)))
		})
		for _, key := range keys {
			fmt.Fprintf(p, format, s.name, key.mimeType, readStatus(key.ok), s.reads[key].Load())
		}
		s.mu.RUnlock()
	}
}

func readStatus(ok bool) string {
	if ok {
		return "success"
	}
	return "failure"
}
