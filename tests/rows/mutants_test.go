// Package rows takes what a row of docs/requirements.md asks for out of the code, and sees whether the test that the row names fails.
package rows

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"goblin-actor/internal/gatetest"
)

var (
	mutants = flag.Bool("mutants", false, "try whether the tests of the rows notice mutants/*.patch")
	mutant  = flag.String("mutant", "*", "only those patches whose name matches")
)

const root = "../.."

// heading is the first line of a patch: what it takes out, and who has to notice. git apply passes over it.
var heading = regexp.MustCompile(`^Row: (S[0-9. S]+) · Test: (\S+)\.(Test\w+)\n`)

type patch struct {
	name, path string
	rows       []string
	room, test string
}

// patches reads the headings of those whose name matches.
func patches(t *testing.T, glob string) (all []patch) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("mutants", glob+".patch"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no patches: %v", err)
	}
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		m := heading.FindSubmatch(raw)
		absolute, err := filepath.Abs(p)
		if m == nil || err != nil {
			t.Fatalf("%s: the first line is not %q (%v)", p, "Row: … · Test: room.Test…", err)
		}
		all = append(all, patch{strings.TrimSuffix(filepath.Base(p), ".patch"), absolute, strings.Fields(string(m[1])), string(m[2]), string(m[3])})
	}
	return all
}

// row is a line of docs/requirements.md that a test claims.
var row = regexp.MustCompile(`(?m)^\| (S\d[.\d]*) \|.*\| tested \| ([^|]*) \|$`)

// proofs are the tests of each row, as docs/requirements.md has them.
func proofs(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "requirements.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string][]string{}
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		if m[2] != "its scenarios" {
			tests[m[1]] = strings.Split(m[2], ", ")
		}
	}
	return tests
}

// A patch speaks of rows that its test claims.
func TestHeadings(t *testing.T) {
	claims := proofs(t)
	for _, p := range patches(t, "*") {
		for _, id := range p.rows {
			if !slices.Contains(claims[id], p.room+"."+p.test) {
				t.Errorf("%s: %s.%s does not claim %s: %q", p.name, p.room, p.test, id, claims[id])
			}
		}
	}
}

// Every patch applies to the code as it is, those of the simulated world too: otherwise it is found out when somebody asks for them, long after
// the code has moved.
func TestPatchesApply(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		const why = "SKIPPED: there is no git, so nobody knows whether the patches still apply"
		if os.Getenv("CI") == "true" {
			t.Fatal(why)
		}
		fmt.Println(why)
		t.Skip(why)
	}
	module, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"tests/rows/mutants", "tests/sim/mutants"} {
		paths, err := filepath.Glob(filepath.Join(module, folder, "*.patch"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no patches in %s: %v", folder, err)
		}
		for _, p := range paths {
			if out, err := gatetest.Try(module, "git", "apply", "--check", p); err != nil {
				t.Errorf("%s/%s does not apply: its code has moved, make it anew: %v: %s", folder, filepath.Base(p), err, out)
			}
		}
	}
}

// TestMutants applies one patch after the other to a copy of the module: the test it names passes without it and has to fail with it. It
// takes a quarter of an hour, so it is asked for with -mutants.
func TestMutants(t *testing.T) {
	if !*mutants {
		t.Skip("asked for with -mutants")
	}
	dir := t.TempDir()
	gatetest.CopyModule(t, root, dir)
	without := proofs(t)
	whole := map[string]bool{} // tests that pass as the code is
	var table strings.Builder
	for _, p := range patches(t, *mutant) {
		for _, id := range p.rows {
			delete(without, id)
		}
		test := p.room + "." + p.test
		if !whole[test] {
			if out, err := p.run(t, dir); err != nil {
				t.Fatalf("%s fails without a patch: %s", test, last(out))
			}
			whole[test] = true
		}
		t.Run(p.name, func(t *testing.T) {
			gatetest.Run(t, dir, "git", "apply", p.path)
			defer gatetest.Run(t, dir, "git", "apply", "-R", p.path)
			verdict := "fails"
			if _, err := p.run(t, dir); err == nil {
				verdict = "DOES NOT NOTICE"
				t.Errorf("%s passes with %s", test, p.name)
			}
			fmt.Fprintf(&table, "%-20s %-50s %-50s %s\n", strings.Join(p.rows, " "), p.name, test, verdict)
		})
	}
	t.Logf("\n%s", table.String())
	if *mutant == "*" {
		for id, tests := range without {
			t.Logf("%s has no patch: %s", id, strings.Join(tests, ", "))
		}
	}
}

// run builds the tests of the room in dir, which has to succeed, and runs the one.
func (p *patch) run(t *testing.T, dir string) ([]byte, error) {
	t.Helper()
	binary := filepath.Join(dir, "rows.test")
	gatetest.Run(t, dir, "go", "test", "-c", "-trimpath", "-vet=off", "-o", binary, "./"+p.room)
	out, err := gatetest.Try(path.Join(dir, p.room), binary, "-test.run", "^"+p.test+"$", "-test.timeout", "5m")
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return out, err
}

// last is the end of what a test says.
func last(out []byte) []byte { return out[max(0, len(out)-600):] }
