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

// Outcome says how a call ended, as its caller saw it.
type Outcome uint8

// Every call ends in one of these ways; /metrics names them by outcomeNames.
const (
	OutcomeOK          Outcome = iota // a result
	OutcomeError                      // the server's own JSON-RPC error
	OutcomeToolError                  // a result with isError
	OutcomeTimeout                    // TIMEOUT, QUEUE_TIMEOUT
	OutcomeCancelled                  // by the client, or the client left
	OutcomeUnavailable                // SERVER_UNAVAILABLE, NO_BACKENDS_AVAILABLE: nothing was sent
	OutcomeQueueFull                  // QUEUE_FULL, OVERLOADED: nothing was sent
	OutcomeFailed                     // anything else of our own: disconnected, shutting down …
	outcomes           = iota
)

var outcomeNames = [outcomes]string{"ok", "error", "tool_error", "timeout", "cancelled", "unavailable", "queue_full", "failed"}

// String returns the label.
func (o Outcome) String() string { return outcomeNames[o] }

// ServerMetrics are the counters of one server. Safe from any goroutine; nothing in it blocks.
type ServerMetrics struct {
	name      string
	all       *Metrics
	calls     [maxMethods][outcomes]atomic.Uint64
	seconds   [maxMethods]histogram
	queueWait histogram
	denied    denials
	finished  finished

	mu    sync.RWMutex
	reads map[readKey]*atomic.Uint64
	types map[string]bool // MIME types that have a label of their own
}

type readKey struct {
	mimeType string // label, already bounded
	ok       bool
}

// Call counts one finished call and how long it took from arrival to answer. Atomic adds only.
func (s *ServerMetrics) Call(method protocol.Method, outcome Outcome, seconds float64) {
	i := bounded(method)
	s.calls[i][outcome].Add(1)
	s.seconds[i].observe(seconds)
}

// Bytes counts n bytes of messages that came from or went to the server. A nil receiver counts nothing.
func (s *ServerMetrics) Bytes(direction Direction, n int) {
	if s != nil {
		s.all.Bytes(Servers, direction, n)
	}
}

// QueueWait counts one call that left the queue and how long it had waited there.
func (s *ServerMetrics) QueueWait(seconds float64) { s.queueWait.observe(seconds) }

// Read counts one resources/read. mimeType is that of its first content, "" when there is none.
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

// newRead returns the counter of a type that was not counted before: other's when the server has as many as may be.
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

func writeCalls(b *strings.Builder, servers []*ServerMetrics) {
	family(b, "goblin_calls_total", "counter")
	for _, s := range servers {
		for method := range s.calls {
			for outcome := range s.calls[method] {
				if n := s.calls[method][outcome].Load(); n > 0 {
					fmt.Fprintf(b, "goblin_calls_total{server=%q,method=%q,outcome=%q} %d\n",
						s.name, methodLabel(protocol.Method(method)), outcomeNames[outcome], n)
				}
			}
		}
	}
	family(b, "goblin_call_seconds", "histogram")
	for _, s := range servers {
		for method := range s.seconds {
			labels := fmt.Sprintf("server=%q,method=%q", s.name, methodLabel(protocol.Method(method)))
			s.seconds[method].write(b, "goblin_call_seconds", labels)
		}
	}
}

func writeQueueWaits(b *strings.Builder, servers []*ServerMetrics) {
	family(b, "goblin_queue_wait_seconds", "histogram")
	for _, s := range servers {
		s.queueWait.write(b, "goblin_queue_wait_seconds", fmt.Sprintf("server=%q", s.name))
	}
}

// writeReads writes the reads under two names: one in the style of Prometheus, and the camel-case one that the requirements
// name (S0.10.1).
func writeReads(b *strings.Builder, servers []*ServerMetrics) {
	family(b, "goblin_resource_reads_total", "counter")
	writeReadSamples(b, servers, "goblin_resource_reads_total{server=%q,mime_type=%q,status=%q} %d\n")
	family(b, "mcpResourceReadsTotal", "counter")
	writeReadSamples(b, servers, "mcpResourceReadsTotal{serverId=%q,mimeType=%q,status=%q} %d\n")
}

func writeReadSamples(b *strings.Builder, servers []*ServerMetrics, format string) {
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
			fmt.Fprintf(b, format, s.name, key.mimeType, readStatus(key.ok), s.reads[key].Load())
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
