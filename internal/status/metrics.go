package status

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
)

// Limits of label values. Values beyond them are counted under the label "other".
const (
	maxServers   = 1024 // distinct servers since the start, including reloads
	maxMIMETypes = 32   // distinct MIME types per server, so that one server cannot use up the labels of others
	maxMethods   = 48   // at least the number of values of protocol.Method; a test checks it
	other        = "other"
)

// Metrics counts events of one gateway and writes them as Prometheus text or OpenMetrics. It is safe for concurrent
// use.
//
// Callers look up the counters of a server once and keep them. ServerMetrics.Call then takes no lock and no map lookup, and
// allocates memory only for the first call of a method:
//
//	files := m.Server("files")                                        // once, when the pool starts
//	files.Call(protocol.MethodToolsCall, status.OutcomeOK, 0.0021)    // per call
//
// Gauges (in flight, queue depth, sessions) come from the Snapshot: see WriteSnapshot.
type Metrics struct {
	notifications [maxMethods][deliveries]atomic.Uint64
	bytes         [sides][directions]atomic.Uint64
	ended         atomic.Uint64 // number of the last finished call
	refused       finished      // requests that were refused before a server was chosen
	toolLabels    atomic.Int64  // labelled tools of all servers
	deniedLines   deniedLines
	denials       denialTable
	local         identity.Usage // of clients that are not authenticated
	observer      Observer       // nil = none
	operations    *Operations
	cluster       ClusterCounts

	mu      sync.RWMutex
	servers map[string]*ServerMetrics
}

// NewMetrics returns empty metrics.
func NewMetrics() *Metrics {
	return &Metrics{servers: map[string]*ServerMetrics{}, operations: NewOperations(false)}
}

// Observer is notified of finished calls. Its methods must not block.
type Observer interface {
	// CallEnded reports that a call to a server has ended. e is passed by value, because a pointer would cost an
	// allocation for each call.
	CallEnded(server string, e Ended)
}

// Observe sets the observer. Call it before the metrics are used.
func (m *Metrics) Observe(o Observer) { m.observer = o }

// ShareOperations makes m count operations in o. Call it before the metrics are used. A nil o changes nothing.
func (m *Metrics) ShareOperations(o *Operations) {
	if o != nil {
		m.operations = o
	}
}

// SessionEnded counts a session with a client that began at the given time. A zero time counts nothing.
func (m *Metrics) SessionEnded(transport, version string, began time.Time) {
	m.sessionEnded("", transport, version, began)
}

func (m *Metrics) sessionEnded(server, transport, version string, began time.Time) {
	if !began.IsZero() {
		m.operations.sessionEnded(server, transport, version, time.Since(began))
	}
}

// SessionEnded counts a connection to the server that began at the given time. A zero time or a nil receiver counts
// nothing.
func (s *ServerMetrics) SessionEnded(transport, version string, began time.Time) {
	if s != nil {
		s.all.sessionEnded(s.name, transport, version, began)
	}
}

// Server returns the counters of a server and creates them at first use. It takes a lock, so callers should keep the result.
func (m *Metrics) Server(name string) *ServerMetrics {
	m.mu.RLock()
	s := m.servers[name]
	m.mu.RUnlock()
	if s != nil {
		return s
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.servers) >= maxServers {
		name = other
	}
	if s = m.servers[name]; s == nil {
		s = &ServerMetrics{name: name, all: m, reads: map[readKey]*atomic.Uint64{}, types: map[string]bool{}}
		m.servers[name] = s
	}
	return s
}

// Delivery is the outcome of sending a notification to one client.
type Delivery uint8

// Values of Delivery.
const (
	Delivered  Delivery = iota // written to the client's stream
	Coalesced                  // replaced by a newer one with the same key
	Dropped                    // the buffer was full, or the stream had ended
	deliveries = iota
)

// Notification counts a notification to one client. kind is its method, such as protocol.NotificationProgress.
func (m *Metrics) Notification(kind protocol.Method, what Delivery) {
	m.notifications[bounded(kind)][what].Add(1)
}

// Side is the peer of a message.
type Side uint8

// Values of Side.
const (
	Clients Side = iota
	Servers
	sides = iota
)

// Direction is the direction of a message, seen from the gateway.
type Direction uint8

// Values of Direction.
const (
	In Direction = iota
	Out
	directions = iota
)

// Bytes counts n bytes of messages received from or sent to clients or servers.
func (m *Metrics) Bytes(side Side, direction Direction, n int) {
	m.bytes[side][direction].Add(uint64(n))
}

// Write writes all metrics, except the gauges of a Snapshot, as Prometheus text (version 0.0.4). The metrics of the
// process and the Go runtime come last. It returns the first error of w.
func (m *Metrics) Write(w io.Writer) error {
	p := &page{}
	m.writeTo(p)
	return p.writeTo(w)
}

func (m *Metrics) writeTo(p *page) {
	servers := m.allServers()
	writeCalls(p, servers)
	writeQueueWaits(p, servers)
	writeReads(p, servers)
	writeTools(p, servers)
	writeDenied(p, servers)
	m.writeNotifications(p)
	m.writeBytes(p, servers)
	m.cluster.writeTo(p)
	m.operations.writeTo(p)
	p.writeRuntime()
}

// allServers returns the servers sorted by name.
func (m *Metrics) allServers() []*ServerMetrics {
	m.mu.RLock()
	defer m.mu.RUnlock()
	all := make([]*ServerMetrics, 0, len(m.servers))
	for _, s := range m.servers {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *ServerMetrics) int { return strings.Compare(a.name, b.name) })
	return all
}

func (m *Metrics) writeNotifications(p *page) {
	p.family("goblin_notifications_total")
	for kind := range m.notifications {
		for what := range m.notifications[kind] {
			if n := m.notifications[kind][what].Load(); n > 0 {
				name := strings.TrimPrefix(methodLabel(protocol.Method(kind)), "notifications/")
				fmt.Fprintf(p, "goblin_notifications_total{kind=%q,outcome=%q} %d\n", name, deliveryNames[what], n)
			}
		}
	}
}

func (m *Metrics) writeBytes(p *page, servers []*ServerMetrics) {
	p.family("goblin_bytes_total")
	for side := range m.bytes {
		for direction := range m.bytes[side] {
			n := m.bytes[side][direction].Load()
			for i := 0; Side(side) == Servers && i < len(servers); i++ {
				n += servers[i].bytes[direction].Load()
			}
			fmt.Fprintf(p, "goblin_bytes_total{side=%q,direction=%q} %d\n", sideNames[side], directionNames[direction], n)
		}
	}
}

// plainType returns a MIME type in lower case and without its parameters. It returns other for an invalid type or one
// longer than 100 bytes, and "" for an empty one.
func plainType(mimeType string) string {
	if mimeType == "" {
		return ""
	}
	name, _, _ := strings.Cut(mimeType, ";")
	name = strings.ToLower(strings.TrimSpace(name))
	left, right, found := strings.Cut(name, "/")
	if !found || left == "" || right == "" || len(name) > 100 || strings.ContainsFunc(name, outsideType) {
		return other
	}
	return name
}

func outsideType(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("/+-._", r))
}

var (
	deliveryNames  = [deliveries]string{"delivered", "coalesced", "dropped"}
	sideNames      = [sides]string{"clients", "servers"}
	directionNames = [directions]string{"in", "out"}
)

// bounded returns the index of a method, or that of MethodOther if the method is out of range.
func bounded(method protocol.Method) int {
	if int(method) >= maxMethods {
		return int(protocol.MethodOther)
	}
	return int(method)
}

func methodLabel(method protocol.Method) string {
	if name := method.String(); method != protocol.MethodOther && name != "" {
		return name
	}
	return other
}
