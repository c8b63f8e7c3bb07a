package status

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/trace"
	"goblin-actor/protocol"
)

// openPage returns the OpenMetrics page.
func openPage(t *testing.T, m *Metrics, s *Snapshot) string {
	t.Helper()
	var b strings.Builder
	if err := m.WriteOpenMetrics(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// S0.10.5: the metrics of the semantic conventions have the names and labels that a collector would give them. Tools are not distinguished,
// whether or not the telemetry counts them separately.
func TestOperationsArePrometheusMetrics(t *testing.T) {
	for _, items := range []bool{false, true} {
		m := NewMetrics()
		m.ShareOperations(NewOperations(items))
		files := m.Server("files")
		began := time.Unix(100, 0)
		for i := range 10 {
			m.Answered(&Answer{Method: protocol.MethodToolsCall, Item: fmt.Sprint("tool", i), Version: "2025-11-25", Transport: "http", Took: 31250 * time.Microsecond})
			files.Ended(Ended{Method: protocol.MethodToolsCall, Item: fmt.Sprint("tool", i), Outcome: OutcomeError, Code: -32602, Began: began, Sent: began.Add(5 * time.Millisecond), Took: 20 * time.Millisecond})
		}
		m.Answered(&Answer{Method: protocol.MethodOther, Error: "-32601", Version: "tomorrow", Transport: "stdio", Took: -time.Second})
		files.Ended(Ended{Method: protocol.MethodToolsCall, Outcome: OutcomeUnavailable, Began: began, Took: time.Second}) // was never sent
		files.Ended(Ended{Method: protocol.MethodResourcesRead, Outcome: OutcomeError, Code: 4711, Began: began, Sent: began, Took: time.Hour})
		m.SessionEnded("sse", "2024-11-05", time.Now().Add(-3*time.Second))
		files.SessionEnded("stdio", "", time.Now().Add(-time.Minute))
		m.SessionEnded("http", "", time.Time{}) // never began
		got := written(t, m)
		for _, want := range []string{
			`mcp_server_operation_duration_seconds_bucket{gen_ai_operation_name="execute_tool",mcp_method_name="tools/call",mcp_protocol_version="2025-11-25",network_protocol_name="http",network_transport="tcp",le="0.02"} 0`,
			`mcp_server_operation_duration_seconds_bucket{gen_ai_operation_name="execute_tool",mcp_method_name="tools/call",mcp_protocol_version="2025-11-25",network_protocol_name="http",network_transport="tcp",le="0.05"} 10`,
			`mcp_server_operation_duration_seconds_sum{gen_ai_operation_name="execute_tool",mcp_method_name="tools/call",mcp_protocol_version="2025-11-25",network_protocol_name="http",network_transport="tcp"} 0.3125`,
			`mcp_server_operation_duration_seconds_count{error_type="-32601",mcp_method_name="_OTHER",network_transport="pipe",rpc_response_status_code="-32601"} 1`,
			`mcp_client_operation_duration_seconds_count{error_type="-32602",gen_ai_operation_name="execute_tool",goblin_server_name="files",mcp_method_name="tools/call",rpc_response_status_code="-32602"} 10`,
			`mcp_client_operation_duration_seconds_bucket{error_type="_OTHER",goblin_server_name="files",mcp_method_name="resources/read",le="300"} 0`,
			`mcp_client_operation_duration_seconds_bucket{error_type="_OTHER",goblin_server_name="files",mcp_method_name="resources/read",le="+Inf"} 1`,
			`mcp_server_session_duration_seconds_bucket{mcp_protocol_version="2024-11-05",network_protocol_name="http",network_transport="tcp",le="2"} 0`,
			`mcp_server_session_duration_seconds_bucket{mcp_protocol_version="2024-11-05",network_protocol_name="http",network_transport="tcp",le="5"} 1`,
			`mcp_client_session_duration_seconds_count{goblin_server_name="files",network_transport="pipe"} 1`,
		} {
			if !strings.Contains(got, want+"\n") {
				t.Errorf("missing sample: %s", want)
			}
		}
		for name, want := range map[string]int{"mcp_server_operation": 2, "mcp_client_operation": 2, "mcp_server_session": 1, "mcp_client_session": 1} {
			if n := strings.Count(got, "\n"+name+"_duration_seconds_count"); n != want {
				t.Errorf("%s has %d series, want %d", name, n, want)
			}
		}
	}
}

// A sampled request is an exemplar of its bucket, in OpenMetrics only.
func TestExemplars(t *testing.T) {
	m, s := busyMetrics()
	r := &trace.Request{ID: trace.ID{Trace: [16]byte{0xab, 15: 1}, Server: [8]byte{2}, Client: [8]byte{3}}}
	m.Answered(&Answer{Method: protocol.MethodPing, Took: 15 * time.Millisecond, Trace: r})
	m.Answered(&Answer{Method: protocol.MethodPing, Took: 15 * time.Millisecond}) // not sampled
	began := time.Unix(100, 0)
	m.Server("files").Ended(Ended{Method: protocol.MethodToolsList, Began: began, Sent: began, Took: time.Second, Trace: r})
	page := openPage(t, m, s)
	for _, want := range []string{
		`\nmcp_server_operation_duration_seconds_bucket\{mcp_method_name="ping",le="0\.02"\} 2 # \{trace_id="ab000000000000000000000000000001",span_id="0200000000000000"\} 0\.015 \d+\.\d{3}\n`,
		`\nmcp_client_operation_duration_seconds_bucket\{goblin_server_name="files",mcp_method_name="tools/list",le="1\.0"\} 1 # \{trace_id="ab000000000000000000000000000001",span_id="0300000000000000"\} 1 \d+\.\d{3}\n`,
	} {
		if !regexp.MustCompile(want).MatchString(page) {
			t.Errorf("no exemplar %s", want)
		}
	}
	if n := strings.Count(page, " # {"); n != 2 {
		t.Errorf("%d exemplars, want 2", n)
	}
	if strings.Contains(written(t, m), " # {") {
		t.Error("the text format has exemplars")
	}
}

// S0.10.3: in OpenMetrics, counters are announced without _total, families are adjacent and unique, and whole numbers have a decimal point.
func TestOpenMetricsIsWellFormed(t *testing.T) {
	m, s := busyMetrics()
	page := openPage(t, m, s)
	if !strings.HasSuffix(page, "\n# EOF\n") || strings.Count(page, "# EOF") != 1 {
		t.Error("the page does not end with # EOF")
	}
	for _, want := range []string{"# TYPE goblin_calls counter\n", "# TYPE mcpResourceReadsTotal unknown\n", "# TYPE goblin_call_seconds histogram\n", `goblin_call_seconds_bucket{server="files",method="tools/call",le="1.0"} `,
		"# TYPE go_memstats_alloc_bytes gauge\n", "# TYPE go_memstats_alloc_bytes_total unknown\n", `go_gc_duration_seconds{quantile="0.0"} `} {
		if !strings.Contains(page, want) {
			t.Errorf("missing: %s", want)
		}
	}
	announced, current, kind := map[string]bool{}, "", ""
	for line := range strings.Lines(page) {
		fields := strings.Fields(line)
		if fields[0] == "#" {
			if fields[1] == "HELP" {
				if current = fields[2]; announced[current] {
					t.Errorf("%s is announced twice", current)
				}
				announced[current] = true
			} else if fields[1] == "TYPE" {
				kind = fields[3]
			}
			continue
		}
		name := line[:strings.IndexAny(line, "{ ")]
		rest, ok := strings.CutPrefix(name, current)
		if suffixes := map[string]string{"counter": "_total", "histogram": "_bucket _sum _count", "summary": "_sum _count "}; !ok || rest != "" && !strings.Contains(suffixes[kind], rest) || rest == "" && kind == "counter" {
			t.Errorf("sample %s in the family %s %s", name, kind, current)
		}
	}
}

// S0.10.4: a server or client that invents versions, codes or tools cannot add series without a limit.
func TestOperationsAreLimited(t *testing.T) {
	m := NewMetrics()
	m.ShareOperations(NewOperations(true))
	for i := range 6000 {
		m.Answered(&Answer{Method: protocol.Method(i), Item: fmt.Sprint("tool", i), Version: fmt.Sprint("version", i), Error: fmt.Sprint(i), Transport: "http"})
		m.Server(fmt.Sprint("s", i%1500)).Ended(Ended{Method: protocol.Method(i % 7), Item: fmt.Sprint("tool", i), Outcome: OutcomeError, Code: -i, Began: time.Unix(1, 0), Sent: time.Unix(1, 0)})
	}
	for _, metric := range []OperationMetric{ServerOperation, ClientOperation} {
		total := uint64(0)
		all := m.operations.Series(metric)
		for _, s := range all {
			total += s.Total()
		}
		if len(all) > maxCoarseSeries+4 || total != 6000 {
			t.Errorf("metric %d has %d series and %d observations, want at most %d and 6000", metric, len(all), total, maxCoarseSeries+4)
		}
	}
}

func BenchmarkAnswered(b *testing.B) {
	m := NewMetrics()
	a := Answer{Method: protocol.MethodToolsCall, Item: "files_read_file", Version: "2025-11-25", Transport: "http", Took: time.Millisecond}
	b.ReportAllocs()
	for b.Loop() {
		m.Answered(&a)
	}
}

// Sessions over streamable HTTP and HTTP+SSE have the same attributes, so they are one series, which an exporter must not send twice.
// Connections to a server in the same process have no transport.
func TestSessionsByTransport(t *testing.T) {
	m := NewMetrics()
	files, began := m.Server("files"), time.Now().Add(-time.Second)
	for _, transport := range []string{"http", "sse", "http"} {
		m.SessionEnded(transport, "2024-11-05", began)
	}
	files.SessionEnded("embedded", "", began)
	for metric, want := range map[OperationMetric]DurationKey{
		ServerSession: {Transport: "http", Version: "2024-11-05"},
		ClientSession: {Server: "files"},
	} {
		var keys []DurationKey
		for _, s := range m.operations.Series(metric) {
			keys = append(keys, s.Key)
		}
		if !slices.Equal(keys, []DurationKey{want}) {
			t.Errorf("%d: %+v, want %+v", metric, keys, want)
		}
	}
}
