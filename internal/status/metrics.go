package status

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/VictoriaMetrics/metrics"

	"goblin-actor/protocol"
)

// Bounds of what labels may take; what is beyond counts as other.
const (
	maxServers   = 1024 // distinct servers since the start, reloads included
	maxMIMETypes = 32   // distinct MIME types of one server: what it invents costs the labels of no other
	maxMethods   = 48   // more than protocol.Method has; a test says when not
	other        = "other"
)

// Metrics counts what one gateway does and writes it as Prometheus text. Safe from any goroutine.
//
// Counters are fields found once and kept by whoever counts; adding to one is an atomic add, without lock, map or allocation:
//
//	files := m.Server("files")                                        // once, when the pool is born
//	files.Call(protocol.MethodToolsCall, status.OutcomeOK, 0.0021)    // per call
//
// Values that are states rather than counts (in flight, queue depth, sessions) come from the Snapshot: see WriteSnapshot.
type Metrics struct {
	notifications [maxMethods][deliveries]atomic.Uint64
	bytes         [sides][directions]atomic.Uint64
	ended         atomic.Uint64 // calls that ended and are remembered
	deniedLines   deniedLines

	mu      sync.RWMutex
	servers map[string]*ServerMetrics
}

// NewMetrics returns empty metrics.
func NewMetrics() *Metrics {
	return &Metrics{servers: map[string]*ServerMetrics{}}
}

// Server returns the counters of one server, the same for the same name; made on first use. Takes a lock: keep the result.
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

// Delivery says what became of a notification on its way to one client.
type Delivery uint8

// What becomes of a notification.
const (
	Delivered  Delivery = iota // written to the client's stream
	Coalesced                  // a newer one of the same key took its place
	Dropped                    // no room, or the stream was over
	deliveries = iota
)

// Notification counts one notification to one client. kind is its method, as in protocol.NotificationProgress.
func (m *Metrics) Notification(kind protocol.Method, what Delivery) {
	m.notifications[bounded(kind)][what].Add(1)
}

// Side says whose bytes are counted.
type Side uint8

// The two sides of the gateway.
const (
	Clients Side = iota
	Servers
	sides = iota
)

// Direction is seen from the gateway.
type Direction uint8

// What comes in and what goes out.
const (
	In Direction = iota
	Out
	directions = iota
)

// Bytes counts n bytes of messages that came from or went to clients or servers.
func (m *Metrics) Bytes(side Side, direction Direction, n int) {
	m.bytes[side][direction].Add(uint64(n))
}

// Write writes everything as Prometheus text (version 0.0.4), the process and Go runtime families last.
// Returns the first error of w.
func (m *Metrics) Write(w io.Writer) error {
	var b strings.Builder
	servers := m.allServers()
	writeCalls(&b, servers)
	writeQueueWaits(&b, servers)
	writeReads(&b, servers)
	writeDenied(&b, servers)
	m.writeNotifications(&b)
	m.writeBytes(&b)
	var runtime strings.Builder
	metrics.WriteProcessMetrics(&runtime)
	metrics.WriteFDMetrics(&runtime)
	withHelp(&b, runtime.String())
	_, err := io.WriteString(w, b.String())
	return err
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

func (m *Metrics) writeNotifications(b *strings.Builder) {
	family(b, "goblin_notifications_total", "counter")
	for kind := range m.notifications {
		for what := range m.notifications[kind] {
			if n := m.notifications[kind][what].Load(); n > 0 {
				name := strings.TrimPrefix(methodLabel(protocol.Method(kind)), "notifications/")
				fmt.Fprintf(b, "goblin_notifications_total{kind=%q,outcome=%q} %d\n", name, deliveryNames[what], n)
			}
		}
	}
}

func (m *Metrics) writeBytes(b *strings.Builder) {
	family(b, "goblin_bytes_total", "counter")
	for side := range m.bytes {
		for direction := range m.bytes[side] {
			fmt.Fprintf(b, "goblin_bytes_total{side=%q,direction=%q} %d\n",
				sideNames[side], directionNames[direction], m.bytes[side][direction].Load())
		}
	}
}

// plainType cuts the parameters of a MIME type; other when it has not the form type/subtype, "" when it is empty.
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

// bounded returns the index of a method, that of MethodOther for what has none.
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
