package bench

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/internal/gatetest"
)

// realGateway builds the program, once: what only a real gateway does cannot be tested with the forwarder that stands in for it
// elsewhere. The file goes with the process that tests run in.
var realGateway = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ga")
	if err != nil {
		return "", err
	}
	builtIn = dir
	return gatetest.Build(dir)
})

var builtIn string // "" = nothing was built

func program(t *testing.T) string {
	t.Helper()
	path, err := realGateway()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// narrow checks that every line of the report's table fits a terminal.
func narrow(t *testing.T, report *Report) string {
	t.Helper()
	var table bytes.Buffer
	if err := report.WriteTable(&table); err != nil {
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
	report, err := RunFanout(t.Context(), FanoutOptions{Subscribers: []int{20}, Changes: 5, Behind: []string{"http", "stdio-modern"}, Program: program(t)}, &progress)
	if err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	if n := len(report.Fanout.Rows); n != 4 {
		t.Fatalf("%d rows", n)
	}
	for _, r := range report.Fanout.Rows {
		if r.Lost+r.Doubled+r.Crossed+r.DirectLost > 0 || r.P50 <= 0 || r.P99 < r.P50 || r.DirectP50 <= 0 || r.ToDirect <= 0 || r.AllToDirect <= 0 {
			t.Errorf("%+v", r)
		}
	}
	if table := narrow(t, report); !strings.Contains(table, "modern ← stdio-modern") {
		t.Errorf("table:\n%s", table)
	}
}

// What is lost, comes twice or tells of another resource is counted: an audience that nobody talks to properly.
func TestAudienceCountsFailures(t *testing.T) {
	a := &audience{uri: "u", all: make(chan struct{}, 1)}
	a.change.Store(2)
	message := func(uri string, n int) []byte {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"%s","n":%d}}`, uri, n)
	}
	for _, c := range []struct {
		message []byte
		fault   bool
	}{
		{message("u", 2), false}, {message("u", 1), false}, {message("u", 3), true}, {message("v", 2), true},
		{[]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`), true},
	} {
		if _, fault := a.which(c.message); fault != c.fault {
			t.Errorf("%s: fault %v", c.message, fault)
		}
	}
	told, err := (&audience{subscribers: []*subscriber{{}}, all: make(chan struct{}, 1)}).publish(t.Context(), 1, 0, func() error { return nil })
	if err != nil || told.lost != 1 {
		t.Errorf("%+v, %v", told, err)
	}
	row := FanoutRow{Lost: 2, Crossed: 1}
	if got := row.failed(); got != "2 lost, 1 wrong" {
		t.Error(got)
	}
	if f := (&Fanout{Rows: []FanoutRow{row}}); f.Failures() != 3 {
		t.Error(f.Failures())
	}
}

func TestFaults(t *testing.T) {
	var progress bytes.Buffer
	report, err := RunFaults(t.Context(), FaultsOptions{Behind: []string{"stdio"}, Calm: 300 * time.Millisecond, Lasts: 300 * time.Millisecond, Readers: 4, ready: time.Millisecond, Program: program(t)}, &progress)
	if err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	if n := len(report.Faults.Rows); n != len(FaultKinds) {
		t.Fatalf("%d rows", n)
	}
	for _, r := range report.Faults.Rows {
		if r.Lost+r.Wrong > 0 || r.Back < 0 || r.Calm <= 0 || r.During <= 0 {
			t.Errorf("%+v", r)
		}
		if broke := r.Fault == "kill"; broke && (r.Error < 0 || r.Errors == 0) {
			t.Errorf("nobody noticed: %+v", r)
		}
	}
	if table := narrow(t, report); !strings.Contains(table, "flood, stdio") {
		t.Errorf("table:\n%s", table)
	}
}

func TestGrowth(t *testing.T) {
	var progress bytes.Buffer
	report, err := RunGrowth(t.Context(), GrowthOptions{Most: 10, Duration: 100 * time.Millisecond, Program: program(t)}, &progress)
	if err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	var got []string
	for _, r := range report.Growth.Rows {
		got = append(got, fmt.Sprint(r.Of, r.N))
		if measured := r.P50 > 0 && r.Use > 0; !measured || r.Refused > 0 {
			t.Errorf("%+v", r)
		}
	}
	if want := "sessions1 sessions10 servers1 servers10 items10 flight1 flight10"; strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", got, want)
	}
	narrow(t, report)
}

func TestGrowthOfChecks(t *testing.T) {
	report, err := RunGrowth(t.Context(), GrowthOptions{What: []string{"checks"}, Most: 1000, Program: program(t), gateways: 1}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if rows := report.Growth.Rows; len(rows) != 1 || rows[0].First <= 0 || rows[0].Checked <= 0 || rows[0].Changed <= 0 || rows[0].CheckedAgain <= 0 {
		t.Errorf("%+v", rows)
	}
	narrow(t, report)
}

// What costs the same for each, however many there are, is no fault; twice as much at ten times as many is.
func TestGrowthIsJudged(t *testing.T) {
	g := &Growth{Rows: []GrowthRow{
		{Of: "sessions", N: 1, CPU: 10}, {Of: "sessions", N: 10, CPU: 50, KiB: 10}, {Of: "sessions", N: 100, CPU: 60, KiB: 30},
		{Of: "sessions", N: 1000, CPU: 60, KiB: 90},
		{Of: "items", N: 100_000, CPU: 1000, List: 100}, {Of: "flight", N: 1000, CPU: 10, Refused: 3},
	}}
	g.judge()
	if got := strings.Join(g.Faults, "; "); got != "sessions 100 → 1000: memory 30.0 → 90.0, as n^1.48; flight 1000: 3 calls were refused (QUEUE_FULL, OVERLOADED)" {
		t.Error(got)
	}
	narrow(t, &Report{Growth: g})
	if !isRefusal([]byte(`{"error":{"data":{"code":"QUEUE_FULL"}}}`)) || isRefusal([]byte(`{"result":{}}`)) {
		t.Error("a refusal is not told from an answer")
	}
}

// A gateway of another binary is the one that is started: two rows of three starts each, and no more.
func TestColdComplete(t *testing.T) {
	dir := t.TempDir()
	gateway, starts := filepath.Join(dir, "gateway"), filepath.Join(dir, "starts")
	if err := os.WriteFile(gateway, fmt.Appendf(nil, "#!/bin/sh\necho $1 >>%s\nexec %s \"$@\"\n", starts, program(t)), 0o700); err != nil {
		t.Fatal(err)
	}
	report, err := runIn(t.Context(), Options{Kind: "cold", Program: program(t), Gateway: gateway, Starts: 2}, io.Discard, func(s *setup, report *Report) (err error) {
		report.Cold = &Cold{Rows: []ColdRow{{Servers: 100, Tools: 100, FileMiB: 16.0, Bytes: 1 << 20, Median: 143.1, Best: 74.2, Worst: 730.7, Start: 360.7, Unknown: 1224, Bare: 29.6}}}
		report.Cold.Complete, err = s.complete()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Cold.Complete {
		if r.First <= 0 || r.All < r.First || r.Best > r.All || r.Worst < r.All || r.Starts != 2 {
			t.Errorf("%+v", r)
		}
	}
	if text, err := os.ReadFile(starts); err != nil || strings.Count(string(text), "stdio") != 6 {
		t.Errorf("%q, %v", text, err)
	}
	if table := narrow(t, report); !strings.Contains(table, "state file") || !strings.Contains(table, "100 × 100") {
		t.Errorf("table:\n%s", table)
	}
}

// What is no answer to the request, or not the server's, is wrong; an error of the gateway is an answer.
func TestWitnessJudgesAnswers(t *testing.T) {
	r := newRequest("h", "/mcp", "s", protocolVersion, "tools/call", "{}")
	r.next()
	w, c := &witnesses{tail: []byte(`,"result":{}}`)}, &client{request: r}
	for _, body := range []string{`100000001,"result":{}}`, `100000001,"error":{"code":-31001}}`, `100000002,"result":{}}`, `100000001,"result":[]}`, ``} {
		w.note(sight{}, c, []byte(answerHead+body), nil)
	}
	w.note(sight{}, c, nil, io.EOF)
	good := 0
	for _, one := range w.seen {
		if one.ok {
			good++
		}
	}
	if good != 1 || w.wrong != 3 || w.lost != 1 || len(w.seen) != 6 {
		t.Errorf("%d good, %d wrong, %d lost of %d", good, w.wrong, w.lost, len(w.seen))
	}
}

func TestMeasuresNameEveryFault(t *testing.T) {
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
	err = FaultsOptions{What: []string{"rain"}, Behind: []string{"ftp"}, Clients: "old", Calm: -1, Readers: -1}.Default().Validate()
	for _, want := range []string{"rain", "ftp", "old", "calm", "readers"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}
