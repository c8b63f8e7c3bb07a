package bench

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/bench/report"
	"goblin-actor/internal/gatetest"
)

// realGateway builds the program once, for tests that need a real gateway. Other tests use fakeGateway instead. TestMain
// removes the file.
var realGateway = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ga")
	if err != nil {
		return "", err
	}
	builtIn = dir
	return gatetest.Build(dir)
})

var builtIn string // directory of the built program; "" = not built

func program(t *testing.T) string {
	t.Helper()
	path, err := realGateway()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// narrow checks that every line of the report's table fits a terminal.
func narrow(t *testing.T, result *report.Report) string {
	t.Helper()
	var table bytes.Buffer
	if err := result.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(table.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	return table.String()
}

func TestFanout(t *testing.T) {
	var progress bytes.Buffer
	result, err := RunFanout(t.Context(), FanoutOptions{Subscribers: []int{20}, Changes: 5, Behind: []string{"http", "stdio-modern"}, Program: program(t)}, &progress)
	if err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	if n := len(result.Fanout.Rows); n != 4 {
		t.Fatalf("%d rows", n)
	}
	for _, r := range result.Fanout.Rows {
		if r.Lost+r.Doubled+r.Crossed+r.DirectLost > 0 || r.P50 <= 0 || r.P99 < r.P50 || r.DirectP50 <= 0 || r.ToDirect <= 0 || r.AllToDirect <= 0 {
			t.Errorf("%+v", r)
		}
	}
	if table := narrow(t, result); !strings.Contains(table, "modern ← stdio-modern") {
		t.Errorf("table:\n%s", table)
	}
}

func TestFaults(t *testing.T) {
	var progress bytes.Buffer
	result, err := RunFaults(t.Context(), FaultsOptions{Behind: []string{"stdio"}, Calm: 300 * time.Millisecond, Lasts: 300 * time.Millisecond, Readers: 4, ready: time.Millisecond, Program: program(t)}, &progress)
	if err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	if n := len(result.Faults.Rows); n != len(FaultKinds) {
		t.Fatalf("%d rows", n)
	}
	for _, r := range result.Faults.Rows {
		if r.Lost+r.Wrong > 0 || r.Back < 0 || r.Calm <= 0 || r.During <= 0 {
			t.Errorf("%+v", r)
		}
		if broke := r.Fault == "kill"; broke && (r.Error < 0 || r.Errors == 0) {
			t.Errorf("no call failed: %+v", r)
		}
	}
	if table := narrow(t, result); !strings.Contains(table, "flood, stdio") {
		t.Errorf("table:\n%s", table)
	}
}

func TestGrowth(t *testing.T) {
	var progress bytes.Buffer
	result, err := RunGrowth(t.Context(), GrowthOptions{Most: 10, Duration: 100 * time.Millisecond, Program: program(t)}, &progress)
	if err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	var got []string
	for _, r := range result.Growth.Rows {
		got = append(got, fmt.Sprint(r.Of, r.N))
		if measured := r.P50 > 0 && r.Use > 0; !measured || r.Refused > 0 {
			t.Errorf("%+v", r)
		}
	}
	if want := "sessions1 sessions10 servers1 servers10 items10 flight1 flight10"; strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", got, want)
	}
	narrow(t, result)
}

func TestGrowthOfChecks(t *testing.T) {
	result, err := RunGrowth(t.Context(), GrowthOptions{What: []string{"checks"}, Most: 1000, Program: program(t), gateways: 1}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if rows := result.Growth.Rows; len(rows) != 1 || rows[0].First <= 0 || rows[0].Checked <= 0 || rows[0].Changed <= 0 || rows[0].CheckedAgain <= 0 {
		t.Errorf("%+v", rows)
	}
	narrow(t, result)
}

func TestCluster(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux")
	}
	o := ClusterOptions{Rounds: 2, Turn: 50 * time.Millisecond, Streams: 20, Idle: 200 * time.Millisecond, Starts: 1, Program: program(t), Before: program(t)}
	var progress bytes.Buffer
	result, err := RunCluster(t.Context(), o, &progress)
	if err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	var got []string
	for _, r := range result.Cluster.Rows {
		got = append(got, r.What)
		if r.Now <= 0 || r.Unit == "" || r.Of == "×" && (r.Base <= 0 || r.Result <= 0 || len(r.Each) != 2) {
			t.Errorf("%+v", r)
		}
	}
	if want := "three ÷ one, legacy; three ÷ three, legacy; three ÷ one, legacy, paced; three ÷ three, legacy, paced; " +
		"three ÷ one, modern; three ÷ three, modern; three ÷ one, modern, paced; three ÷ three, modern, paced; guest ÷ home; " +
		"one node ÷ without; without ÷ before; one node ÷ without; without ÷ before; hop, p50 added; hop ÷ here; hop ÷ here; " +
		"relayed stream, resident; relayed stream, in use; idle node, CPU; idle node, memory more; idle node, own more; idle voter, CPU; idle voter, memory more; idle voter, own more; " +
		"start, one node more; start, more than before"; strings.Join(got, "; ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, "; "), want)
	}
	if table := narrow(t, result); !strings.Contains(table, "≥2.7") {
		t.Errorf("table:\n%s", table)
	}
}

// The gateway binary in the options is started three times for each of two rows.
func TestColdComplete(t *testing.T) {
	dir := t.TempDir()
	gateway, starts := filepath.Join(dir, "gateway"), filepath.Join(dir, "starts")
	if err := os.WriteFile(gateway, fmt.Appendf(nil, "#!/bin/sh\necho $1 >>%s\nexec %s \"$@\"\n", starts, program(t)), 0o700); err != nil {
		t.Fatal(err)
	}
	result, err := runIn(t.Context(), Options{Kind: "cold", Program: program(t), Gateway: gateway, Starts: 2}, io.Discard, func(s *setup, result *report.Report) (err error) {
		result.Cold = &report.Cold{Rows: []report.ColdRow{{Servers: 100, Tools: 100, FileMiB: 16.0, Bytes: 1 << 20, Median: 143.1, Best: 74.2, Worst: 730.7, Start: 360.7, Unknown: 1224, Bare: 29.6}}}
		result.Cold.Complete, err = s.complete()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range result.Cold.Complete {
		if r.First <= 0 || r.All < r.First || r.Best > r.All || r.Worst < r.All || r.Starts != 2 {
			t.Errorf("%+v", r)
		}
	}
	if text, err := os.ReadFile(starts); err != nil || strings.Count(string(text), "stdio") != 6 {
		t.Errorf("%q, %v", text, err)
	}
	if table := narrow(t, result); !strings.Contains(table, "state file") || !strings.Contains(table, "100 × 100") {
		t.Errorf("table:\n%s", table)
	}
}

func TestMeasurementOptionsReportEveryError(t *testing.T) {
	err := FanoutOptions{Subscribers: []int{0}, Clients: []string{"old"}, Behind: []string{"ftp"}, What: []string{"mind"}}.Default().Validate()
	for _, want := range []string{"subscribers", "old", "ftp", "mind"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	err = GrowthOptions{What: []string{"debt"}, Behind: "ftp", Clients: "old", Duration: -1}.Default().Validate()
	for _, want := range []string{"debt", "ftp", "old", "duration"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	err = ClusterOptions{What: []string{"crowd"}, Rounds: -1}.Default().Validate()
	for _, want := range []string{"crowd", "rounds"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	err = FaultsOptions{What: []string{"rain"}, Behind: []string{"ftp"}, Clients: "old", Calm: -1, Readers: -1}.Default().Validate()
	for _, want := range []string{"rain", "ftp", "old", "calm", "readers"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}
