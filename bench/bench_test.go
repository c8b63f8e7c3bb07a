package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be the program a bench starts: server, proxy, static handler, and for `serve` a proxy in front
// of the first HTTP server of the configuration, which answers /readyz and ends at SIGTERM as a gateway does.
func TestMain(m *testing.M) {
	args := os.Args[1:]
	if len(args) == 0 || args[0] != "bench" && args[0] != "serve" {
		code := m.Run()
		if builtIn != "" {
			_ = os.RemoveAll(builtIn)
		}
		os.Exit(code)
	}
	if err := child(args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func child(args []string) error {
	switch {
	case args[0] == "serve":
		var config struct {
			McpServers map[string]struct{ URL string }
		}
		text, err := os.ReadFile(args[2])
		if err == nil {
			err = json.Unmarshal(text, &config)
		}
		if err != nil {
			return err
		}
		for _, server := range config.McpServers {
			return fakeGateway(os.Stdin, os.Stdout, server.URL)
		}
		return errors.New("no server")
	case args[1] == "server" && len(args) > 2:
		return ServeStdio(os.Stdin, os.Stdout, ServerOptions{})
	case args[1] == "server":
		return ServeHTTP(os.Stdin, os.Stdout, ServerOptions{})
	case args[1] == "forwarder":
		return ServeForwarder(os.Stdin, os.Stdout, args[len(args)-1], len(args) > 3)
	case args[1] == "proxy":
		return ServeProxy(os.Stdin, os.Stdout, args[2])
	}
	return fmt.Errorf("no such child: %q", args)
}

// fakeGateway prints its URL and forwards connections byte by byte, but answers /readyz and /metrics itself.
func fakeGateway(in io.Reader, out io.Writer, target string) error {
	to := strings.TrimSuffix(strings.TrimPrefix(target, "http://"), "/mcp")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "listening on http://%s/mcp\n", l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, in)
		_ = l.Close()
	}()
	for {
		conn, err := l.Accept()
		if err != nil {
			return nil
		}
		go func() {
			defer conn.Close()
			first := make([]byte, 4096)
			n, err := conn.Read(first)
			if err != nil {
				return
			}
			if bytes.HasPrefix(first[:n], []byte("GET /")) {
				text := "go_memstats_mallocs_total 123456\n"
				fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
				return
			}
			up, err := net.Dial("tcp", to)
			if err != nil {
				return
			}
			defer up.Close()
			_, _ = up.Write(first[:n])
			go func() {
				_, _ = io.Copy(up, conn)
				_ = up.Close()
			}()
			_, _ = io.Copy(conn, up)
		}()
	}
}

func TestCallsOfEveryTarget(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for kind, size := range map[string]int{"calls": 200, "big": 1 << 20} {
		t.Run(kind, func(t *testing.T) {
			var progress bytes.Buffer
			report, err := Run(t.Context(), Options{Kind: kind, Concurrency: []int{2}, Duration: 200 * time.Millisecond, Rounds: 2,
				HTTP: 1, Compare: Comparable, Program: self, Command: "test", Commit: "abc"}, &progress)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, row := range report.Rows {
				names = append(names, row.Target)
				if row.Calls == 0 || row.PerSecond <= 0 || row.P99 < row.P50 || row.ToBase <= 0 || row.ToProxy <= 0 {
					t.Errorf("row %+v", row)
				}
			}
			if got := strings.Join(names, "; "); got != "direct; gateway, http; reverse-proxy; forwarder; whole-forwarder" {
				t.Errorf("targets: %s", got)
			}
			if report.Rows[0].ToBase != 1 {
				t.Errorf("direct is %g times direct", report.Rows[0].ToBase)
			}
			if report.Bytes < size-20 || report.Bytes > size+100 {
				t.Errorf("an answer has %d bytes, want about %d", report.Bytes, size)
			}
			saved(t, report)
		})
	}
}

// saved checks that the written report holds what the run found.
func saved(t *testing.T, report *Report) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	if err := report.Save(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(text, &back); err != nil || len(back.Rows) != len(report.Rows) || back.Commit != "abc" {
		t.Errorf("report.json: %v %s", err, text)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.md"))
	if err != nil || !strings.Contains(string(page), "| gateway, http | 2 |") || !strings.Contains(string(page), back.Machine.Go) {
		t.Errorf("report.md: %v\n%s", err, page)
	}
	for _, row := range back.Rows {
		if len(row.Each) != back.Rounds || row.Each[0].PerSecond <= 0 || row.Each[0].ToBase <= 0 {
			t.Errorf("rounds of %s: %+v", row.Target, row.Each)
		}
	}
	for _, name := range []string{"throughput.svg", "latency.svg"} {
		svg, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(svg), "gateway, http") || !strings.Contains(string(page), "("+name+")") {
			t.Errorf("%s: %v\n%s", name, err, svg)
		}
	}
	var table bytes.Buffer
	if err := report.WriteTable(&table); err != nil || !strings.Contains(table.String(), "gateway, http") {
		t.Errorf("table: %v\n%s", err, table.String())
	}
}

// The stdio server answers by line, in order, and leaves notifications alone.
func TestServeStdio(t *testing.T) {
	in := strings.NewReader(`{"jsonrpc":"2.0","id":"a","method":"ping"}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo"}}
{"jsonrpc":"2.0","id":8,"method":"no/such"}
`)
	var out bytes.Buffer
	if err := ServeStdio(in, &out, ServerOptions{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || lines[0] != `{"jsonrpc":"2.0","id":"a","result":{}}` ||
		!strings.HasPrefix(lines[1], `{"jsonrpc":"2.0","id":7,"result":{"content"`) || !strings.Contains(lines[2], "-32601") {
		t.Errorf("got\n%s", out.String())
	}
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

// A wrong answer must never count: each of these ends a run.
func TestCheckRefusesWrongAnswers(t *testing.T) {
	r := newRequest("h", "/mcp", "s", protocolVersion, "tools/call", "{}")
	r.next()
	tail := []byte(`,"result":{}}`)
	good := answerHead + "100000001" + string(tail)
	ok := &wire{status: 200}
	if err := r.check(ok, []byte(good), tail); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		w    wire
		body string
	}{
		"status":    {wire{status: 500}, good},
		"SSE":       {wire{status: 200, eventStream: true}, good},
		"id":        {wire{status: 200}, answerHead + "100000002" + string(tail)},
		"cut short": {wire{status: 200}, good[:len(good)-1]},
		"changed":   {wire{status: 200}, strings.Replace(good, "{}", "[]", 1)},
	} {
		if r.check(&c.w, []byte(c.body), tail) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestWireReadsLengthsAndChunks(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	go func() {
		defer server.Close()
		buffer := make([]byte, 4096)
		for _, answer := range []string{
			"HTTP/1.1 200 OK\r\ncontent-length: 3\r\nMcp-Session-Id: s1\r\n\r\nabc",
			"HTTP/1.1 201 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n2\r\nde\r\n1\r\nf\r\n0\r\n\r\n",
			"HTTP/1.1 202 Accepted\r\n\r\n",
			"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
		} {
			if _, err := server.Read(buffer); err != nil {
				return
			}
			if _, err := io.WriteString(server, answer); err != nil {
				return
			}
		}
	}()
	w := newWire(client)
	for _, want := range []string{"200 abc s1 false", "201 def s1 true", "202  s1 false"} {
		body, err := w.exchange([]byte("x"))
		if got := fmt.Sprintf("%d %s %s %v", w.status, body, w.session, w.eventStream); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if _, err := w.exchange([]byte("x")); err == nil {
		t.Error("an answer cut short was accepted")
	}
}

func TestParseBackends(t *testing.T) {
	for text, want := range map[string][2]int{"stdio:1,http:2": {2, 1}, "http": {1, 0}, "stdio:3": {0, 3}} {
		if http, stdio, err := ParseBackends(text); err != nil || http != want[0] || stdio != want[1] {
			t.Errorf("ParseBackends(%q) = %d, %d, %v, want %v", text, http, stdio, err, want)
		}
	}
	for _, text := range []string{"", "sse:1", "http:x", "http:-1", "http:101", "http:0"} {
		if _, _, err := ParseBackends(text); err == nil {
			t.Errorf("ParseBackends(%q): no error", text)
		}
	}
}

func TestOptionsNameEveryFault(t *testing.T) {
	err := Options{Kind: "speed", Concurrency: []int{0}, Duration: -1, Compare: []string{"nginx"}}.Validate()
	for _, want := range []string{"speed", "concurrency", "duration", "nginx"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

// Rounds in which nothing came to its end say nothing, and the report of the others is written all the same.
func TestRoundsWithoutCalls(t *testing.T) {
	none, some := round{elapsed: time.Second}, round{calls: 10, elapsed: time.Second, tenths: []uint32{5}}
	for _, c := range []struct {
		base, other []round
		want        float64
	}{
		{[]round{none, none}, []round{none, some}, 0},
		{[]round{none, some}, []round{some, none}, 0},
		{[]round{none, some}, []round{some, some}, 1},
		{[]round{{}, some}, []round{{}, some}, 1},
	} {
		report := &Report{Kind: "list", Base: "static", Rows: rowsOf([]*target{{name: "static handler", rounds: c.base}, {name: "gateway", rounds: c.other}}, 1)}
		if got := report.Rows[1].ToBase; got != c.want {
			t.Errorf("%+v to %+v: %g, want %g", c.other, c.base, got, c.want)
		}
		dir := t.TempDir()
		if err := report.Save(dir); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "report.md"))
		if err != nil || !strings.Contains(string(text), "× static") || strings.Contains(string(text), "NaN") {
			t.Errorf("%v, %s", err, text)
		}
	}
}

func TestMedianAndQuantile(t *testing.T) {
	if got := median([]float64{9, 1, 4}); got != 4 {
		t.Errorf("median: %g", got)
	}
	if got := median([]float64{4, 1}); got != 2.5 {
		t.Errorf("median of two: %g", got)
	}
	if got := quantile([]uint32{10, 20, 30, 40}, .5); got != 3 {
		t.Errorf("quantile: %g", got)
	}
	if median(nil) != 0 || quantile(nil, .5) != 0 {
		t.Error("nothing has a middle")
	}
}

// A program that ends without printing a URL is an error that shows what it said.
func TestStartTellsWhatTheProgramSaid(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := start(t.Context(), nil, self, "bench", "nonsense"); err == nil || !strings.Contains(err.Error(), "no such child") {
		t.Errorf("got %v", err)
	}
	if _, err := start(t.Context(), nil, filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a program that does not exist was started")
	}
}
