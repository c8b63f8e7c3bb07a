// Package requirements applies mutants that break a row of docs/requirements.md, and checks that the test named by the row fails.
package requirements

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
	mutants = flag.Bool("mutants", false, "check that the tests of the rows fail with mutants/*.txt")
	mutant  = flag.String("mutant", "*", "run only mutants whose name matches this glob")
)

const root = "../.."

// heading is the first line of a mutant: the rows that it breaks, and the test that must fail.
var heading = regexp.MustCompile(`^Row: (S[0-9. S]+) · Test: (\S+)\.(Test\w+)\n`)

type mutation struct {
	name       string
	rows       []string
	room, test string
	edits      []gatetest.Edit
}

// mutations returns the mutants whose name matches.
func mutations(t *testing.T, glob string) (all []mutation) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("mutants", glob+".txt"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no mutants: %v", err)
	}
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		m := heading.FindSubmatch(raw)
		if m == nil {
			t.Fatalf("%s: the first line is not %q", p, "Row: … · Test: room.Test…")
		}
		edits, err := gatetest.ParseEdits(string(raw[len(m[0]):]))
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		all = append(all, mutation{strings.TrimSuffix(filepath.Base(p), ".txt"), strings.Fields(string(m[1])), string(m[2]), string(m[3]), edits})
	}
	return all
}

// row matches the rows of docs/requirements.md that tests cover.
var row = regexp.MustCompile(`(?m)^\| (S\d[.\d]*) \|.*\| tested \| ([^|]*) \|$`)

// proofs returns the tests of each row in docs/requirements.md.
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

// Each mutant names rows that list its test.
func TestHeadings(t *testing.T) {
	claims := proofs(t)
	for _, p := range mutations(t, "*") {
		for _, id := range p.rows {
			if !slices.Contains(claims[id], p.room+"."+p.test) {
				t.Errorf("%s: %s.%s is not a test of row %s, whose tests are %q", p.name, p.room, p.test, id, claims[id])
			}
		}
	}
}

// Every mutant applies to the current code, including those of the simulator. This test finds outdated ones early.
func TestMutantsApply(t *testing.T) {
	for _, folder := range []string{"tests/requirements/mutants", "tests/sim/mutants"} {
		paths, err := filepath.Glob(filepath.Join(root, folder, "*.txt"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no mutants in %s: %v", folder, err)
		}
		for _, p := range paths {
			raw, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			edits, err := gatetest.ParseEdits(string(raw[len(heading.Find(raw)):]))
			if err == nil {
				_, err = gatetest.Edited(root, edits)
			}
			if err != nil {
				t.Errorf("%s/%s no longer fits the code; adapt its old lines: %v", folder, filepath.Base(p), err)
			}
		}
	}
}

// TestMutants applies each mutant to a copy of the module: its test must pass without the mutant and fail with it. It
// takes a quarter of an hour and runs only with -mutants.
func TestMutants(t *testing.T) {
	if !*mutants {
		t.Skip("runs only with -mutants")
	}
	dir := t.TempDir()
	gatetest.CopyModule(t, root, dir)
	without := proofs(t)
	whole := map[string]bool{} // tests that pass without mutants
	var table strings.Builder
	for _, p := range mutations(t, *mutant) {
		for _, id := range p.rows {
			delete(without, id)
		}
		test := p.room + "." + p.test
		if !whole[test] {
			if out, err := p.run(t, dir); err != nil {
				t.Fatalf("%s fails without a mutant: %s", test, last(out))
			}
			whole[test] = true
		}
		t.Run(p.name, func(t *testing.T) {
			defer gatetest.Mutate(t, dir, p.edits)()
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
			t.Logf("%s has no mutant: %s", id, strings.Join(tests, ", "))
		}
	}
}

// run builds the tests of the mutant's package in dir and runs its test.
func (p *mutation) run(t *testing.T, dir string) ([]byte, error) {
	t.Helper()
	binary := filepath.Join(dir, "requirements.test")
	gatetest.Run(t, dir, "go", "test", "-c", "-trimpath", "-vet=off", "-o", binary, "./"+p.room)
	out, err := gatetest.Try(path.Join(dir, p.room), binary, "-test.run", "^"+p.test+"$", "-test.timeout", "5m")
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return out, err
}

// last returns the end of a test's output.
func last(out []byte) []byte { return out[max(0, len(out)-600):] }
