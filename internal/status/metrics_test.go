package status

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/protocol"
)

// written returns the page that m writes.
func written(t *testing.T, m *Metrics) string {
	t.Helper()
	var b strings.Builder
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// S0.10.1: mcpResourceReadsTotal has exactly the required name and labels.
func TestResourceReadsAreCounted(t *testing.T) {
	m := NewMetrics()
	files := m.Server("files")
	files.Read("text/plain; charset=utf-8", true)
	files.Read("TEXT/plain", true)
	files.Read("text/plain", false)
	files.Read("", false)
	files.Read("not a type\"}\n", true)
	got := written(t, m)
	for _, want := range []string{
		`mcpResourceReadsTotal{serverId="files",mimeType="text/plain",status="success"} 2`,
		`mcpResourceReadsTotal{serverId="files",mimeType="text/plain",status="failure"} 1`,
		`mcpResourceReadsTotal{serverId="files",mimeType="",status="failure"} 1`,
		`mcpResourceReadsTotal{serverId="files",mimeType="other",status="success"} 1`,
		`goblin_resource_reads_total{server="files",mime_type="text/plain",status="success"} 2`,
		`goblin_resource_reads_total{server="files",mime_type="",status="failure"} 1`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("missing sample: %s", want)
		}
	}
}

func TestCallsNotificationsAndBytes(t *testing.T) {
	m := NewMetrics()
	files := m.Server("files")
	if m.Server("files") != files {
		t.Fatal("Server returned different counters for the same name")
	}
	files.Call(protocol.MethodToolsCall, OutcomeOK, .002)
	files.Call(protocol.MethodToolsCall, OutcomeTimeout, 1000)
	files.Call(protocol.Method(255), OutcomeFailed, -1)
	files.QueueWait(.1)
	m.Notification(protocol.NotificationProgress, Coalesced)
	m.Bytes(Servers, In, 100)
	m.Bytes(Servers, In, 11)
	got := written(t, m)
	for _, want := range []string{
		`goblin_calls_total{server="files",method="tools/call",outcome="ok"} 1`,
		`goblin_calls_total{server="files",method="tools/call",outcome="timeout"} 1`,
		`goblin_calls_total{server="files",method="other",outcome="failed"} 1`,
		`goblin_call_seconds_bucket{server="files",method="tools/call",le="0.001"} 0`,
		`goblin_call_seconds_bucket{server="files",method="tools/call",le="0.0025"} 1`,
		`goblin_call_seconds_bucket{server="files",method="tools/call",le="900"} 1`,
		`goblin_call_seconds_bucket{server="files",method="tools/call",le="+Inf"} 2`,
		`goblin_call_seconds_sum{server="files",method="tools/call"} 1000.002`,
		`goblin_call_seconds_count{server="files",method="tools/call"} 2`,
		`goblin_call_seconds_sum{server="files",method="other"} 0`,
		`goblin_queue_wait_seconds_bucket{server="files",le="0.1"} 1`,
		`goblin_notifications_total{kind="progress",outcome="coalesced"} 1`,
		`goblin_bytes_total{side="servers",direction="in"} 111`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("missing sample: %s", want)
		}
	}
	for _, family := range []string{"go_goroutines", "process_start_time_seconds"} {
		if !strings.Contains(got, family) {
			t.Errorf("missing family: %s", family)
		}
	}
}

// Every line is a comment or `name{labels} value`, and no series occurs twice.
func TestTextIsWellFormed(t *testing.T) {
	m := NewMetrics()
	m.Server("a").Call(protocol.MethodToolsList, OutcomeError, 3)
	m.Server("a").Read("a/b", true)
	m.Notification(protocol.NotificationMessage, Dropped)
	var b strings.Builder
	if err := WriteSnapshot(&b, sampleSnapshot()); err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*(\{([a-zA-Z_][a-zA-Z0-9_]*="[^"\n]*",? ?)+\})? (\+Inf|NaN|[-+0-9.e]+)$`)
	seen := map[string]bool{}
	for text := range strings.Lines(written(t, m) + b.String()) {
		text = strings.TrimSuffix(text, "\n")
		if strings.HasPrefix(text, "#") || text == "" {
			continue
		}
		if !line.MatchString(text) {
			t.Errorf("invalid Prometheus text: %s", text)
		}
		series := text[:strings.LastIndexByte(text, ' ')]
		if seen[series] {
			t.Errorf("duplicate series: %s", series)
		}
		seen[series] = true
	}
}

func sampleSnapshot() *Snapshot {
	return &Snapshot{
		Started: time.Unix(1, 0), Now: time.Unix(100, 0),
		Catalog: Catalog{Version: 9}, ConfigFault: &ConfigFault{Reason: "goblin.yaml:1:1: no"},
		Nodes:   []Node{{Name: "a", State: NodeMember}, {Name: "b", State: NodeDraining}, {Name: "c", State: NodeOutside}, {Name: "d", State: NodeGone}},
		Servers: []Server{{Name: "files", Queued: 3, InFlight: 2, Tools: 4, Templates: 1, Subscribed: 5, Subscribers: 6}},
		Backends: []Backend{
			{Server: "files", Replica: 0, Catalog: true, State: "ready", Incarnation: 3},
			{Server: "files", Replica: 0, State: "ready", Incarnation: 9},
			{Server: "files", Replica: 1, Catalog: true, State: "waiting"},
			{Server: "files", Replica: 2, Catalog: true, State: "draining", Since: time.Unix(90, 0)},
			{Server: "files", Replica: 2, Catalog: true, State: "handshaking", Since: time.Unix(88, 0)},
		},
		Sessions: []Session{{Protocol: "2025-11-25", Transport: "http"}, {Protocol: "2024-11-05", Transport: "http"}, {Protocol: "2026-07-28"}},
		Calls:    []Call{{State: "parked"}, {State: "written"}, {State: "parked"}},
		Actors:   []Actor{{Kind: "pool", Depth: 2}, {Kind: "pool", Depth: 3, Restarts: 1}},
	}
}

func TestSnapshotAsGauges(t *testing.T) {
	var b strings.Builder
	if err := WriteSnapshot(&b, sampleSnapshot()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`goblin_queue_depth{server="files"} 3`,
		`goblin_in_flight{server="files"} 2`,
		`goblin_catalog_items{server="files",kind="tools"} 4`,
		`goblin_catalog_items{server="files",kind="templates"} 1`,
		`goblin_catalog_version 9`,
		`goblin_config_reload_failed 1`,
		`goblin_subscriptions{server="files"} 5`, // S0.10.2
		`goblin_subscribers{server="files"} 6`,
		`goblin_backend_up{server="files",replica="0"} 1`,
		`goblin_backend_up{server="files",replica="1"} 0`,
		`goblin_backend_restarts_total{server="files",replica="0"} 2`,
		`goblin_backend_restarts_total{server="files",replica="1"} 0`,
		`goblin_backend_connections{server="files",replica="0",state="ready"} 2`,
		`goblin_backend_state_seconds{server="files",replica="2",state="handshaking"} 12`,
		`goblin_sessions{transport="http",era="legacy"} 2`,
		`goblin_sessions{transport="other",era="modern"} 1`,
		`goblin_sessions{transport="sse",era="legacy"} 0`,
		`goblin_parked_calls 2`,
		`goblin_actor_mailbox_depth{kind="pool"} 5`,
		`goblin_actor_restarts_total{kind="pool"} 1`,
	} {
		if !strings.Contains(b.String(), want+"\n") {
			t.Errorf("missing sample: %s", want)
		}
	}
}

// The number of series is limited, regardless of what servers send.
func TestLabelsAreLimited(t *testing.T) {
	m := NewMetrics()
	for i := range maxServers + 10 {
		m.Server(fmt.Sprint("s", i))
	}
	if a, b := m.Server("one-too-many"), m.Server("two-too-many"); a != b || a.name != other {
		t.Errorf("servers beyond the limit: %q and %q, want one named other", a.name, b.name)
	}
	s := m.Server("s1")
	for i := range maxMIMETypes + 10 {
		s.Read(fmt.Sprint("text/x", i), true)
	}
	if len(s.reads) != maxMIMETypes+1 {
		t.Errorf("%d labels of MIME types, want %d and other", len(s.reads), maxMIMETypes)
	}
	honest := m.Server("s2")
	honest.Read("text/plain", true)
	honest.Read("text/plain", false)
	if honest.reads[readKey{"text/plain", true}] == nil || honest.reads[readKey{"text/plain", false}] == nil {
		t.Errorf("labels of another server's types: %v; want its own types although one server has sent many", honest.types)
	}
	if got := plainType("text/" + strings.Repeat("x", 1000)); got != other {
		t.Errorf("label of a type with 1005 bytes: %q, want other", got)
	}
	for i := maxMethods; i < 256; i++ {
		if method := protocol.Method(i); protocol.ParseMethod([]byte(method.String())) == method {
			t.Errorf("method %s has no counter of its own: raise maxMethods", method)
		}
	}
}

func TestConcurrentCounting(t *testing.T) {
	m := NewMetrics()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				s := m.Server("s")
				s.Call(protocol.MethodToolsCall, OutcomeOK, .001)
				s.Read("text/plain", true)
				m.Notification(protocol.NotificationProgress, Delivered)
			}
			_ = m.Write(new(strings.Builder))
		})
	}
	all.Wait()
	for _, want := range []string{`outcome="ok"} 800`, `status="success"} 800`, `outcome="delivered"} 800`} {
		if got := written(t, m); !strings.Contains(got, want) {
			t.Errorf("missing sample: %s", want)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	s := NewMetrics().Server("files")
	b.ReportAllocs()
	for b.Loop() {
		s.Call(protocol.MethodToolsCall, OutcomeOK, .0012)
	}
}
