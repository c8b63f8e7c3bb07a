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

	"goblin-actor/bench/load"
	"goblin-actor/bench/report"
	"goblin-actor/bench/server"
)

// TestMain also runs the test binary as the programs that a run starts: a server, a proxy, a forwarder or a gateway. Run
// as `serve`, it is a fakeGateway for one of the servers of the configuration.
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
		return server.ServeStdio(os.Stdin, os.Stdout, server.Options{})
	case args[1] == "server":
		return server.ServeHTTP(os.Stdin, os.Stdout, server.Options{})
	case args[1] == "forwarder":
		return server.ServeForwarder(os.Stdin, os.Stdout, args[len(args)-1], len(args) > 3)
	case args[1] == "proxy":
		return server.ServeProxy(os.Stdin, os.Stdout, args[2])
	}
	return fmt.Errorf("unknown command: %q", args)
}

// fakeGateway prints its URL and forwards connections to target unchanged, but answers GET requests, such as those for
// /readyz and /metrics, itself.
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
			result, err := Run(t.Context(), Options{Kind: kind, Concurrency: []int{2}, Duration: 200 * time.Millisecond, Rounds: 2,
				HTTP: 1, Compare: report.Comparable, Program: self, Command: "test", Commit: "abc"}, &progress)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, row := range result.Rows {
				names = append(names, row.Target)
				if row.Calls == 0 || row.PerSecond <= 0 || row.P99 < row.P50 || row.ToBase <= 0 || row.ToProxy <= 0 {
					t.Errorf("row %+v", row)
				}
			}
			if got := strings.Join(names, "; "); got != "direct; gateway, http; reverse-proxy; forwarder; whole-forwarder" {
				t.Errorf("targets: %s", got)
			}
			if result.Rows[0].ToBase != 1 {
				t.Errorf("the ratio of direct to itself is %g", result.Rows[0].ToBase)
			}
			if result.Bytes < size-20 || result.Bytes > size+100 {
				t.Errorf("a response has %d bytes, want about %d", result.Bytes, size)
			}
			saved(t, result)
		})
	}
}

// saved saves the report and checks its files.
func saved(t *testing.T, result *report.Report) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	if err := result.Save(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var back report.Report
	if err := json.Unmarshal(text, &back); err != nil || len(back.Rows) != len(result.Rows) || back.Commit != "abc" {
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
	if err := result.WriteTable(&table); err != nil || !strings.Contains(table.String(), "gateway, http") {
		t.Errorf("table: %v\n%s", err, table.String())
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

func TestOptionsReportEveryError(t *testing.T) {
	err := Options{Kind: "speed", Concurrency: []int{0}, Duration: -1, Compare: []string{"nginx"}}.Validate()
	for _, want := range []string{"speed", "concurrency", "duration", "nginx"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

// Rounds without completed calls are omitted from the ratios. The report is still written.
func TestRoundsWithoutCalls(t *testing.T) {
	none, some := load.Round{Elapsed: time.Second}, load.Round{Calls: 10, Elapsed: time.Second, Latencies: []uint32{5}}
	for _, c := range []struct {
		base, other []load.Round
		want        float64
	}{
		{[]load.Round{none, none}, []load.Round{none, some}, 0},
		{[]load.Round{none, some}, []load.Round{some, none}, 0},
		{[]load.Round{none, some}, []load.Round{some, some}, 1},
		{[]load.Round{{}, some}, []load.Round{{}, some}, 1},
	} {
		result := &report.Report{Kind: "list", Base: "static", Rows: rowsOf([]*load.Target{{Name: "static handler", Rounds: c.base}, {Name: "gateway", Rounds: c.other}}, 1)}
		if got := result.Rows[1].ToBase; got != c.want {
			t.Errorf("%+v to %+v: %g, want %g", c.other, c.base, got, c.want)
		}
		dir := t.TempDir()
		if err := result.Save(dir); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "report.md"))
		if err != nil || !strings.Contains(string(text), "× static") || strings.Contains(string(text), "NaN") {
			t.Errorf("%v, %s", err, text)
		}
	}
}
