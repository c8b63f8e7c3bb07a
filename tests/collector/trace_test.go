package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMain also runs this binary as the peers of the test.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "peer" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if err := runPeer(ctx, os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// output collects what a process writes. It is safe for concurrent use.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await polls until done returns true. It fails the test after a minute.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still waiting for %s", what)
		}
	}
}

// start starts a program that ends with the test, and returns what it writes to stdout.
func start(t *testing.T, env []string, program string, args ...string) *output {
	t.Helper()
	out, errors := &output{}, &output{}
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), out, errors
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		kill.Stop()
		if t.Failed() {
			t.Logf("%s %v wrote\n%s\n%s", program, args, out, errors)
		}
	})
	return out
}

var urlPattern = regexp.MustCompile(`https?://[^\s"]+`)

// urlOf waits until a program has written a URL, and returns it.
func urlOf(t *testing.T, out *output) (url string) {
	t.Helper()
	await(t, "a URL", func() bool {
		url = urlPattern.FindString(out.String())
		return url != ""
	})
	return url
}

func build(t *testing.T, into, from, pkg string, flags ...string) string {
	t.Helper()
	file := filepath.Join(into, filepath.Base(pkg)+"-under-test")
	cmd := exec.Command("go", append(append([]string{"build"}, flags...), "-o", file, pkg)...)
	cmd.Dir = from
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v: %s", pkg, err, text)
	}
	return file
}

// startCollector starts the collector and returns its endpoint and output.
func startCollector(t *testing.T, program string) (string, *output) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	_ = l.Close()
	pipeline := "{receivers: [otlp], exporters: [debug]}"
	out := start(t, nil, program, "--config", "yaml:"+strings.Join([]string{
		"receivers: {otlp: {protocols: {http: {endpoint: '" + at + "'}}}}",
		"exporters: {debug: {verbosity: detailed, use_internal_logger: false}}",
		"service: {telemetry: {metrics: {level: none}}, pipelines: {traces: " + pipeline + ", metrics: " + pipeline + ", logs: " + pipeline + "}}",
	}, "\n"))
	await(t, "the collector", func() bool {
		a, err := http.Post("http://"+at+"/v1/traces", "application/json", strings.NewReader("{}"))
		if err == nil {
			_ = a.Body.Close()
		}
		return err == nil && a.StatusCode == 200
	})
	return "http://" + at, out
}

// startGateway starts the gateway with the servers, waits until it is ready, and returns its URL.
func startGateway(t *testing.T, program, dir, endpoint string, servers map[string]any) string {
	t.Helper()
	config, err := json.Marshal(map[string]any{"listen": "127.0.0.1:0", "mcpServers": servers, "metaTools": "false", "telemetry": map[string]any{"endpoint": endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "goblin.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	url := urlOf(t, start(t, []string{"XDG_RUNTIME_DIR=" + dir, "XDG_STATE_HOME=" + dir, "OTEL_METRIC_EXPORT_INTERVAL=500", "OTEL_BSP_SCHEDULE_DELAY=200", "OTEL_BLRP_SCHEDULE_DELAY=200"},
		program, "serve", "--config", file))
	await(t, "the gateway", func() bool {
		a, err := http.Get(strings.TrimSuffix(url, "/mcp") + "/readyz")
		if err == nil {
			_ = a.Body.Close()
		}
		return err == nil && a.StatusCode == 200
	})
	return url
}

// One call of an HTTP client passes through the gateway to a server on streamable HTTP, which calls a tool of a server on stdio through
// the gateway. The collector gets one trace of it, in which each span is the parent of the next one.
func TestTraceOfOneCall(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	endpoint, received := startCollector(t, build(t, dir, ".", "."))
	web := urlOf(t, start(t, nil, self, "peer", "planner", endpoint))
	gateway := startGateway(t, build(t, dir, "../..", "./cmd/goblin-actor", "-tags=grpcnotrace"), dir, endpoint, map[string]any{
		"planner": map[string]any{"url": web},
		"notes":   map[string]any{"command": self, "args": []string{"peer", "notes", endpoint}},
	})
	agent, err := newPeer(t.Context(), "agent", endpoint)
	if err != nil {
		t.Fatal(err)
	}
	text, err := agent.call(t.Context(), gateway, "planner_plan", map[string]any{"gateway": gateway})
	if err != nil || text != "a plan, as the notes say: found one note" {
		t.Fatalf("planner_plan: got %q, %v", text, err)
	}
	want := []string{
		"agent tools/call planner_plan CLIENT",
		"goblin-actor tools/call planner_plan SERVER",
		"goblin-actor tools/call plan CLIENT",
		"planner tools/call plan SERVER",
		"planner tools/call notes_search CLIENT",
		"goblin-actor tools/call notes_search SERVER",
		"goblin-actor tools/call search CLIENT",
		"notes tools/call search SERVER",
	}
	var got []span
	await(t, "all spans", func() bool {
		all := spansIn(received.String())
		for _, s := range all {
			if s.service == "agent" {
				got = chain(all, s.trace)
			}
		}
		return len(got) >= len(want)
	})
	t.Logf("trace %s, as the collector received it:", got[0].trace)
	for i, s := range got {
		t.Log(s)
		for _, a := range s.attributes {
			t.Log("    " + a)
		}
		if line := strings.Join(strings.Fields(s.service+" "+s.name+" "+s.kind), " "); line != want[i] {
			t.Errorf("got %s, want %s", line, want[i])
		}
	}
	checkMetricsAndLogs(t, gateway, received)
}

// checkMetricsAndLogs reads a resource that cannot be read. It waits until the collector has received metrics, the log
// line about the read, and a span of the trace that this line names.
func checkMetricsAndLogs(t *testing.T, gateway string, received *output) {
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: gateway, DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	resources, err := session.ListResources(t.Context(), nil)
	if err != nil || len(resources.Resources) != 1 {
		t.Fatalf("list resources: got %v, %v, want one", resources, err)
	}
	if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: resources.Resources[0].URI}); err == nil {
		t.Error("the read of the unreadable resource succeeded")
	}
	_ = session.Close()
	for _, metric := range []string{"mcp.server.operation.duration", "mcp.client.operation.duration"} {
		await(t, metric, func() bool { return strings.Contains(received.String(), "-> Name: "+metric) })
	}
	line := regexp.MustCompile(`(?s)Body: Str\(server refused to read a resource\).*?Trace ID: (\w{32})\n`)
	await(t, "a log line with its trace", func() bool { return line.MatchString(received.String()) })
	id := line.FindStringSubmatch(received.String())[1]
	await(t, "the span of the log line", func() bool {
		for lines := bufio.NewScanner(strings.NewReader(received.String())); lines.Scan(); {
			if strings.Contains(lines.Text(), "Trace ID       : "+id) {
				return true
			}
		}
		return false
	})
}
