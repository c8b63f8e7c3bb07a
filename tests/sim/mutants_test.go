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
	mutants = flag.Bool("mutants", false, "try whether the world finds the faults of mutants/*.txt")
	mutant  = flag.String("mutant", "*", "only mutants whose name matches")
)

// whichSeed is the line in which a story says what was broken.
var whichSeed = regexp.MustCompile(`seed (\d+): (.*)`)

// TestMutants takes one mend after the other out of a copy of the module: a world that does not notice would not have found
// the fault either. It takes minutes, so it is asked for with -mutants.
func TestMutants(t *testing.T) {
	if !*mutants {
		t.Skip("asked for with -mutants")
	}
	paths, err := filepath.Glob(filepath.Join("mutants", *mutant+".txt"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no mutants: %v", err)
	}
	dir := t.TempDir()
	gatetest.CopyModule(t, "../..", dir)
	binary := filepath.Join(t.TempDir(), "sim.test")
	if _, found, out, err := tried(t, dir, binary); err != nil { // then nothing is known of the patches
		t.Fatalf("with all mends in their place: %s: %v: %s", found, err, out[max(0, len(out)-400):])
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
			seed, sentence, out, err := tried(t, dir, binary)
			switch {
			case seed != "":
				t.Logf("%s: seed %s: %s", name, seed, sentence)
			case err != nil:
				t.Logf("%s: the stories ended with %v: %s", name, err, out[max(0, len(out)-400):])
			default:
				t.Errorf("%s: 70 stories do not notice", name)
			}
		})
	}
}

// tried tells stories with the module as it stands in dir, up to the first that breaks a law.
func tried(t *testing.T, dir, binary string) (seed, sentence string, out []byte, err error) {
	t.Helper()
	gatetest.Run(t, dir, "go", "test", "-c", "-trimpath", "-o", binary, "./tests/sim")
	run := exec.Command(binary, "-test.run", "TestSeeds$", "-test.failfast", "-test.timeout", "30m", "-seeds", "70", "-own=false")
	run.Dir = filepath.Join(dir, "tests", "sim")
	out, err = run.CombinedOutput()
	if found := whichSeed.FindSubmatch(out); found != nil {
		seed, sentence = string(found[1]), string(found[2])
	}
	return seed, sentence, out, err
}
