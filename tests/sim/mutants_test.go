package sim

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	mutants = flag.Bool("mutants", false, "try whether the world finds the faults of mutants/*.patch")
	mutant  = flag.String("mutant", "*", "only those patches whose name matches")
)

// whichSeed is the line in which a story says what was broken.
var whichSeed = regexp.MustCompile(`seed (\d+): (.*)`)

// TestMutants takes one mend after the other out of a copy of the module: a world that does not notice would not have found
// the fault either. It takes minutes, so it is asked for with -mutants.
func TestMutants(t *testing.T) {
	if !*mutants {
		t.Skip("asked for with -mutants")
	}
	patches, err := filepath.Glob(filepath.Join("mutants", *mutant+".patch"))
	if err != nil || len(patches) == 0 {
		t.Fatalf("no patches: %v", err)
	}
	dir := t.TempDir()
	copyModule(t, "../..", dir)
	binary := filepath.Join(t.TempDir(), "sim.test")
	if _, found, out, err := tried(t, dir, binary); err != nil { // then nothing is known of the patches
		t.Fatalf("with all mends in their place: %s: %v: %s", found, err, out[max(0, len(out)-400):])
	}
	for _, patch := range patches {
		name := strings.TrimSuffix(filepath.Base(patch), ".patch")
		path, err := filepath.Abs(patch)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			in(t, dir, "git", "apply", path)
			defer in(t, dir, "git", "apply", "-R", path)
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
	in(t, dir, "go", "test", "-c", "-trimpath", "-o", binary, "./tests/sim")
	run := exec.Command(binary, "-test.run", "TestSeeds$", "-test.failfast", "-test.timeout", "30m", "-seeds", "70", "-own=false")
	run.Dir = filepath.Join(dir, "tests", "sim")
	out, err = run.CombinedOutput()
	if found := whichSeed.FindSubmatch(out); found != nil {
		seed, sentence = string(found[1]), string(found[2])
	}
	return seed, sentence, out, err
}

// in runs a command there.
func in(t *testing.T, dir string, name string, args ...string) {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}

// copyModule copies what belongs to the module and is no rubbish of builds.
func copyModule(t *testing.T, from, to string) {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = from
	out, err := list.Output()
	if err != nil {
		t.Skipf("not a checkout: %v", err)
	}
	for path := range bytes.SplitSeq(bytes.TrimRight(out, "\x00"), []byte{0}) {
		raw, err := os.ReadFile(filepath.Join(from, string(path)))
		if err != nil {
			if _, gone := err.(*fs.PathError); gone {
				continue // deleted, or a link to nothing
			}
			t.Fatal(err)
		}
		target := filepath.Join(to, string(path))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
