package sim

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"goblin-actor/internal/gatetest"
)

var (
	mutants = flag.Bool("mutants", false, "test whether the simulator notices the mutants in mutants/*.txt")
	mutant  = flag.String("mutant", "*", "pattern for the names of mutants to test")
)

// failureLine matches the line in which a story reports a violation.
var failureLine = regexp.MustCompile(`seed (\d+): (.*)`)

// TestMutants applies each mutant to a copy of the module. The simulator must notice it. This takes minutes, so it runs
// only with -mutants.
func TestMutants(t *testing.T) {
	if !*mutants {
		t.Skip("run with -mutants")
	}
	paths, err := filepath.Glob(filepath.Join("mutants", *mutant+".txt"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no mutants: %v", err)
	}
	dir := t.TempDir()
	gatetest.CopyModule(t, "../..", dir)
	binary := filepath.Join(t.TempDir(), "sim.test")
	if _, found, out, err := runStories(t, dir, binary); err != nil { // results with mutants would mean nothing
		t.Fatalf("without a mutant: %s: %v: %s", found, err, out[max(0, len(out)-400):])
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		edits, err := gatetest.ParseEdits(string(raw))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		t.Run(name, func(t *testing.T) {
			defer gatetest.Mutate(t, dir, edits)()
			seed, sentence, out, err := runStories(t, dir, binary)
			switch {
			case seed != "":
				t.Logf("%s: seed %s: %s", name, seed, sentence)
			case err != nil:
				t.Logf("%s: the stories ended with %v: %s", name, err, out[max(0, len(out)-400):])
			default:
				t.Errorf("%s: not noticed in 70 stories", name)
			}
		})
	}
}

// runStories runs up to 70 stories with the module in dir, until one fails. seed is "" if none reported a violation.
func runStories(t *testing.T, dir, binary string) (seed, sentence string, out []byte, err error) {
	t.Helper()
	gatetest.Run(t, dir, "go", "test", "-c", "-trimpath", "-o", binary, "./tests/sim")
	run := exec.Command(binary, "-test.run", "TestSeeds$", "-test.failfast", "-test.timeout", "30m", "-seeds", "70", "-own=false")
	run.Dir = filepath.Join(dir, "tests", "sim")
	out, err = run.CombinedOutput()
	if found := failureLine.FindSubmatch(out); found != nil {
		seed, sentence = string(found[1]), string(found[2])
	}
	return seed, sentence, out, err
}
