package conformance

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"goblin-actor/internal/gatetest"
	"goblin-actor/protocol"
)

// Paths of the binaries that build creates.
var (
	gatewayBinary string
	fixtureBinary string // the project's own server
	gosdkBinary   string // the go-sdk's everything-server
	driverBinary  string // this test binary
)

func TestMain(m *testing.M) {
	if scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO"); scenario != "" {
		os.Exit(driverMain(scenario, os.Args[len(os.Args)-1]))
	}
	os.Exit(m.Run())
}

func build(t *testing.T) {
	t.Helper()
	var err error
	if driverBinary, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	gatewayBinary = buildProgram(t, dir, gatewayPackage)
	fixtureBinary = buildProgram(t, dir, fixturePackage)
	gosdkBinary = buildProgram(t, dir, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server")
}

const (
	gatewayPackage = "goblin-actor/cmd/goblin-actor"
	fixturePackage = "goblin-actor/tests/conformance/fixture"
)

// buildProgram builds a program in dir and returns its path.
func buildProgram(t *testing.T, dir, pkg string) string {
	t.Helper()
	binary := filepath.Join(dir, path.Base(pkg))
	if out, err := exec.Command("go", "build", "-o", binary, pkg).CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return binary
}

// leg is a target of the server scenarios. target starts it for a protocol version and returns its URL.
type leg struct {
	name   string
	suites []suite
	omit   []string // versions to skip
	target func(t *testing.T, version string) string
}

// A scenario's version determines the era of the client (the suite), and the leg determines the era of the server. Together they
// cover all four combinations, each with the server as a process and behind a URL.
var (
	both    = []suite{stable, next}
	few     = []string{protocol.Version20250326, protocol.Version20250618, tasks} // not run against third-party servers
	noTasks = []string{tasks}                                                     // legacy servers lack the extension tasks
	legs    = []leg{
		{"direct", both, nil, fixtureHTTP},
		{"legacy-stdio", both, noTasks, func(t *testing.T, version string) string { return serve(t, fixtureCommand(legacy(version))) }},
		{"legacy-http", both, noTasks, func(t *testing.T, version string) string {
			return serve(t, map[string]any{"url": fixtureHTTP(t, legacy(version))})
		}},
		{"modern-stdio", both, nil, func(t *testing.T, _ string) string { return serve(t, fixtureCommand(protocol.Version20260728)) }},
		{"modern-http", both, nil, func(t *testing.T, _ string) string {
			return serve(t, map[string]any{"url": fixtureHTTP(t, protocol.Version20260728)})
		}},
		{"gosdk-legacy-stdio", []suite{next}, few, func(t *testing.T, _ string) string {
			return serve(t, map[string]any{"command": gosdkBinary, "protocol": "legacy", "isolation": "class"})
		}},
		{"gosdk-legacy-http", []suite{next}, few, func(t *testing.T, _ string) string { return serve(t, map[string]any{"url": gosdkHTTP(t, false)}) }},
		{"gosdk-modern-stdio", []suite{next}, few, func(t *testing.T, _ string) string {
			return serve(t, map[string]any{"command": gosdkBinary, "protocol": "modern"})
		}},
		{"gosdk-modern-http", []suite{next}, few, func(t *testing.T, _ string) string { return serve(t, map[string]any{"url": gosdkHTTP(t, true)}) }},
	}
	eras = []string{"legacy", "modern"} // eras of the driver in client scenarios
)

const clientLeg = "client-" // followed by the era

// timed lists client scenarios in which the suite measures durations with a tolerance of 200 ms. About thirty scenarios run at the same time,
// which sometimes delays them by more. Such a scenario is repeated alone at the end, and the second result counts.
var timed = []string{"sse-retry"}

// legacy returns the version that a legacy server is forced to: version itself if it is legacy, otherwise the newest legacy version.
func legacy(version string) string {
	if protocol.IsLegacy(version) {
		return version
	}
	return protocol.LatestLegacy
}

// sizes holds the number of scenarios of a suite for each version. A run with another number fails the test.
var sizes = map[string]map[suite]map[string]int{
	"server": {
		stable: {protocol.Version20250618: 26, protocol.Version20251125: 32},
		next: {
			protocol.Version20250326: 1, protocol.Version20250618: 27, protocol.Version20251125: 33, protocol.Version20260728: 40,
			tasks: len(taskScenarios),
		},
	},
	"client": {
		stable: {protocol.Version20250618: 5, protocol.Version20251125: 18},
		next:   {protocol.Version20250326: 2, protocol.Version20250618: 5, protocol.Version20251125: 19, protocol.Version20260728: 33},
	},
}

// versions are the columns of the matrix. tasks is not a version but the extension of that name in 2026-07-28.
var versions = []string{protocol.Version20250326, protocol.Version20250618, protocol.Version20251125, protocol.Version20260728, tasks}

// TestConformance runs all scenarios and compares the results with the baseline.
func TestConformance(t *testing.T) {
	needSuites(t)
	build(t)
	if *overBridge {
		legs = bridgeLegs
	}
	if *balancer != "" {
		gatetest.NeedBalancer(t, *balancer)
		legs, eras = throughGateways(legs), nil
	}
	known := readBaseline(t)
	var m matrix
	t.Run("run", func(t *testing.T) {
		for _, version := range versions {
			for _, leg := range legs {
				suites := leg.runs(version)
				if len(suites) == 0 {
					continue
				}
				t.Run(leg.name+"/"+version, func(t *testing.T) {
					t.Parallel()
					url := leg.target(t, version)
					for _, s := range suites {
						m.add(t, outcome{leg.name, s, version, s.servers(t, url, version)}, sizes["server"][s][version])
					}
				})
			}
			for _, era := range eras {
				suites := suitesOf("client", version)
				if len(suites) == 0 {
					continue
				}
				t.Run(clientLeg+era+"/"+version, func(t *testing.T) {
					t.Parallel()
					for _, s := range suites {
						m.add(t, outcome{clientLeg + era, s, version, s.clients(t, version, era, "")}, sizes["client"][s][version])
					}
				})
			}
		}
	})
	m.again(t)
	m.compare(t, known)
	t.Logf("scenarios that pass:\n%s", m.String())
	if m.complete() && !*overBridge && *balancer == "" {
		known.unused(t)
	}
}

// suitesOf returns the suites with scenarios of a kind for a version.
func suitesOf(kind, version string) []suite {
	return slices.DeleteFunc([]suite{stable, next}, func(s suite) bool { return sizes[kind][s][version] == 0 })
}

// runs returns the suites to run for a leg and a version.
func (l *leg) runs(version string) []suite {
	if slices.Contains(l.omit, version) {
		return nil
	}
	return slices.DeleteFunc(suitesOf("server", version), func(s suite) bool { return !slices.Contains(l.suites, s) })
}

// outcome is the result of running one suite.
type outcome struct {
	leg     string
	suite   suite
	version string
	results []result
}

// matrix collects outcomes. It is safe for concurrent use.
type matrix struct {
	mu       sync.Mutex
	outcomes []outcome
}

// add adds an outcome. It fails t if the suite did not run as many scenarios as size says.
func (m *matrix) add(t *testing.T, o outcome, size int) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.outcomes = append(m.outcomes, o)
	if len(o.results) != size {
		t.Errorf("%s %s: %d scenarios were run, want %d", o.suite, o.version, len(o.results), size)
	}
}

// again repeats the scenarios in timed that did not pass, one at a time.
func (m *matrix) again(t *testing.T) {
	t.Helper()
	for _, o := range m.outcomes {
		era, is := strings.CutPrefix(o.leg, clientLeg)
		for i, r := range o.results {
			if !is || !slices.Contains(timed, r.scenario) || r.verdict() == passes {
				continue
			}
			t.Logf("%s %s %s: %s %s: %s; it is repeated", o.leg, o.suite, o.version, r.scenario, r.verdict(), r.why())
			if alone := o.suite.clients(t, o.version, era, r.scenario); len(alone) == 1 && alone[0].scenario == r.scenario {
				o.results[i] = alone[0]
			}
		}
	}
}

// compare fails t for each difference from the baseline.
func (m *matrix) compare(t *testing.T, known *baseline) {
	t.Helper()
	for _, o := range m.outcomes {
		for _, fault := range known.compare(o) {
			t.Error(fault)
		}
	}
}

// complete reports whether all runs were made; -run may have excluded some.
func (m *matrix) complete() bool {
	want := 0
	for _, version := range versions {
		for _, leg := range legs {
			want += len(leg.runs(version))
		}
		want += len(eras) * len(suitesOf("client", version))
	}
	return len(m.outcomes) == want
}

// String formats the matrix with a row per leg, a column per suite and version, and passed/all in the cells. Scenarios with
// warnings count as passed.
func (m *matrix) String() string {
	cells := map[string]string{}
	for _, o := range m.outcomes {
		passed := 0
		for _, r := range o.results {
			if r.verdict() != fails {
				passed++
			}
		}
		cells[o.leg+string(o.suite)+o.version] = fmt.Sprintf("%d/%d", passed, len(o.results))
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "leg")
	for _, s := range []suite{stable, next} {
		for _, version := range versions {
			if sizes["server"][s][version] > 0 {
				fmt.Fprintf(w, "\t%s %s", s, version)
			}
		}
	}
	var rows []string
	for _, leg := range legs {
		rows = append(rows, leg.name)
	}
	for _, era := range eras {
		rows = append(rows, "client-"+era)
	}
	for _, leg := range rows {
		fmt.Fprintf(w, "\n%s", leg)
		for _, s := range []suite{stable, next} {
			for _, version := range versions {
				if sizes["server"][s][version] > 0 {
					fmt.Fprintf(w, "\t%s", cells[leg+string(s)+version])
				}
			}
		}
	}
	_ = w.Flush()
	return text.String()
}
